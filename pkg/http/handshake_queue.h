// Connections that wait for their TLS handshake to begin. Each handshake costs a signature, so
// HandshakeLimiter says how many are begun; here is decided whose is next. A client is not turned
// away because of others: it waits for its turn.
//
// Order: the addresses in turn, and of one address the connection that came first. So a client
// waits for at most one handshake of each other address, however many connections a flood opens
// from few addresses. What has waited for `longest_ms` is given up.
//
// Complexity: O(waiting addresses) a call of Next. A connection that is gone meanwhile takes no
// turn; what is kept of those is dropped when there are as many as `most`. Deterministic: the
// caller gives the time. Thread safety: all methods from any thread. Lifetimes: holds no connection
// alive.
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

  // Begins the handshake. `known`: a client was authenticated at its address lately.
  using Begin = std::function<void(Connection&, bool known)>;
  struct Turn {
    std::shared_ptr<Connection> connection;
    Begin begin;
    // kRefused: it has waited for `longest_ms`, and is to be closed.
    HandshakeLimiter::Verdict verdict = HandshakeLimiter::Verdict::kRefused;
  };

  // `begin` does not keep the connection alive.
  void Add(const std::string& address, std::weak_ptr<Connection> connection, Begin begin,
           std::int64_t now_ms);
  // The connection whose turn it is now; nullopt: none waits that may begin.
  std::optional<Turn> Next(std::int64_t now_ms);
  // A client there has given a certificate that may come in.
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
