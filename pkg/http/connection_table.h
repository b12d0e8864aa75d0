// Every open connection of a server, and the two caps on their number. It owns them.
// Thread safety: all methods from any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/http/connection.h"

namespace yardmaster::http {

class ConnectionTable {
 public:
  enum class Verdict { kAdmitted, kFull, kPeerFull, kClosed };

  ConnectionTable(int most, int max_per_peer) : most_(most), max_per_peer_(max_per_peer) {}

  // Would a connection from `address` be admitted now?
  Verdict Check(const std::string& address) const;
  // False when the table has been sealed meanwhile; the connection is not kept then.
  bool Add(const std::shared_ptr<Connection>& connection, const std::string& address);
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
  };

  const int most_;
  const int max_per_peer_;
  mutable std::mutex mutex_;
  mutable std::condition_variable emptied_;
  std::unordered_map<const Connection*, Entry> entries_;
  std::map<std::string, int> per_peer_;
  bool sealed_ = false;
};

}  // namespace yardmaster::http
