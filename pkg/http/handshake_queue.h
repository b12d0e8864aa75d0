// Queues connections until their TLS handshake begins. Each handshake costs a signature, so
// HandshakeLimiter limits how many begin; this class decides which is next. A client is not
// rejected because of other clients: it waits for its turn.
//
// Order: the addresses take turns, and each serves its oldest connection. So a client waits for at
// most one handshake of each other address, however many connections a flood opens from few
// addresses. A connection that has waited for `longest_ms` is refused.
//
// Complexity: Next is O(waiting addresses). A connection that is closed meanwhile takes no turn;
// such entries are dropped when there are as many as `most`. Deterministic: the caller passes the
// time. Thread safety: all methods from any thread. Lifetimes: keeps no connection alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pkg/base/group_turns.h"
#include "pkg/base/mutex.h"
#include "pkg/http/handshake_limiter.h"

namespace yardmaster::http {

class Connection;

class HandshakeQueue {
 public:
  HandshakeQueue(HandshakeRates rates, std::size_t most, std::int64_t longest_ms)
      : limiter_(rates), most_(most), longest_ms_(longest_ms) {}

  // Begins the handshake. `known`: a client was recently authenticated at this address.
  using Begin = std::function<void(Connection&, bool known)>;
  struct Turn {
    std::shared_ptr<Connection> connection;
    Begin begin;
    // kRefused: the connection has waited for `longest_ms` and is to be closed.
    HandshakeLimiter::Verdict verdict = HandshakeLimiter::Verdict::kRefused;
  };

  // `begin` does not keep the connection alive.
  void Add(const std::string& address, std::weak_ptr<Connection> connection, Begin begin,
           std::int64_t now_ms);
  // Returns the connection whose turn it is; nullopt: none may begin now.
  std::optional<Turn> Next(std::int64_t now_ms);
  // Marks an address as known: a client there was authenticated by an accepted certificate.
  void Know(const std::string& address, std::int64_t now_ms) { limiter_.Know(address, now_ms); }
  std::size_t size() const;

 private:
  struct Waiting {
    std::weak_ptr<Connection> connection;
    Begin begin;
    std::int64_t since_ms = 0;
  };
  using Line = std::deque<Waiting>;

  void DropGone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  HandshakeLimiter limiter_;
  const std::size_t most_;
  const std::int64_t longest_ms_;
  mutable Mutex mutex_;
  GroupTurns<Line> lines_ ABSL_GUARDED_BY(mutex_);  // by address
  std::size_t size_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace yardmaster::http
