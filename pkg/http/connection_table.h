// Owns every open connection of a server; enforces the caps and chooses which one makes room.
//
// A connection of a trusted client has a place of its own and is never closed for another. Of the
// others, one that waits for its client gives way to a newer one when a cap is reached: the one
// that has waited longest of those that were never answered a request, else the one that has been
// idle longest, if that is kIdleGraceMs or more. When the cap on all connections is reached, the
// choice is among the 64 oldest that may go, and of these among those of the address with most
// connections, so that one client's many do not cost another its few.
// Any number of slow and idle clients thus lose their connections, and a client that sends its
// request right after its handshake is served.
//
// Complexity: O(connections) when a cap is reached, else O(log connections). Thread safety: all
// methods from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/base/mutex.h"
#include "pkg/http/connection.h"

namespace yardmaster::http {

class ConnectionTable {
 public:
  enum class Verdict { kAdmitted, kFull, kPeerFull, kClosed };
  struct Admission {
    Verdict verdict = Verdict::kAdmitted;
    // Has lost its place; the caller aborts it.
    std::shared_ptr<Connection> evicted;
  };

  // A connection that has answered a request is not closed for another in the first milliseconds of
  // its idle time.
  static constexpr std::int64_t kIdleGraceMs = 1'000;

  // `reserved`: places that only trusted clients take.
  ConnectionTable(int most, int reserved, int max_per_peer)
      : most_(most), reserved_(reserved), max_per_peer_(max_per_peer) {}

  // Whether a connection from `address` is admitted now, and which one loses its place for it. Add
  // then keeps the connection.
  Admission Admit(const std::string& address, std::int64_t now_ms);
  // False when the table has been sealed meanwhile; the connection is not kept then.
  bool Add(const std::shared_ptr<Connection>& connection, const std::string& address);
  // Its client is trusted. Returns the client's address.
  std::string Trust(const Connection& connection);
  void Remove(const Connection& connection);
  // From now on nothing is admitted.
  void Seal();

  std::vector<std::shared_ptr<Connection>> All() const;
  std::size_t size() const;
  // Waits until no connection is left; false after `timeout_ms`.
  bool WaitEmpty(std::int64_t timeout_ms) const;

 private:
  struct Entry {
    std::shared_ptr<Connection> connection;
    std::string address;
    bool trusted = false;
    bool leaving = false;  // evicted, and not closed yet
  };

  std::shared_ptr<Connection> Evict(const std::string* address, std::int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes it off the counts.
  void Discount(const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int most_;
  const int reserved_;
  const int max_per_peer_;
  mutable Mutex mutex_;
  mutable CondVar emptied_;
  std::map<std::uint64_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by age, oldest first
  std::unordered_map<const Connection*, std::uint64_t> number_of_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  // Without those that are leaving.
  std::map<std::string, int> per_peer_ ABSL_GUARDED_BY(mutex_);
  int trusted_ ABSL_GUARDED_BY(mutex_) = 0;
  int others_ ABSL_GUARDED_BY(mutex_) = 0;
  bool sealed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace yardmaster::http
