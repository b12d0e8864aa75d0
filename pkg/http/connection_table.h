// Owns every open connection of a server, enforces the connection limits, and chooses the
// connection that is closed for a new one.
//
//   - A connection of a trusted client has a reserved place and is never closed for another.
//   - If a limit is reached, a new connection replaces one of the others that waits for its client:
//     first the one that has waited longest of those that were never answered a request, else the
//     one that has been idle longest, if for at least kIdleGraceMs.
//   - If the limit on all connections is reached, the choice is among the 64 oldest candidates, and
//     of these among those of the address with the most connections. So a client with many
//     connections does not displace one with few.
//   - If there is no candidate, the new connection is rejected.
//
// So any number of slow and idle clients lose their connections, and a client that sends its
// request right after its handshake is served.
//
// Complexity: O(connections) if a limit is reached, else O(log connections). Thread safety: all
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
    // The connection that is replaced; the caller aborts it. Null: none.
    std::shared_ptr<Connection> evicted;
  };

  // A connection that has answered a request is not replaced before it has been idle this long.
  static constexpr std::int64_t kIdleGraceMs = 1'000;

  // `most`: all connections. `reserved`: of these, places for trusted clients only.
  ConnectionTable(int most, int reserved, int max_per_peer)
      : most_(most), reserved_(reserved), max_per_peer_(max_per_peer) {}

  // Decides whether a connection from `address` is admitted now, and which one it replaces. The
  // caller then calls Add.
  Admission Admit(const std::string& address, std::int64_t now_ms);
  // Adds the connection. False if the table was sealed meanwhile; the connection is not kept then.
  bool Add(const std::shared_ptr<Connection>& connection, const std::string& address);
  // Marks the connection as that of a trusted client. Returns the client's address.
  std::string Trust(const Connection& connection);
  void Remove(const Connection& connection);
  // Rejects all connections from now on.
  void Seal();

  std::vector<std::shared_ptr<Connection>> All() const;
  std::size_t size() const;
  // Waits until no connection is left. False after `timeout_ms`.
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
  // Subtracts the connection from the counts.
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
