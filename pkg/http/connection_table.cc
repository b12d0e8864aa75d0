#include "pkg/http/connection_table.h"

#include <chrono>

namespace yardmaster::http {

ConnectionTable::Verdict ConnectionTable::Check(const std::string& address) const {
  std::lock_guard lock(mutex_);
  if (sealed_) return Verdict::kClosed;
  if (entries_.size() >= static_cast<std::size_t>(most_)) return Verdict::kFull;
  const auto peer = per_peer_.find(address);
  if (peer != per_peer_.end() && peer->second >= max_per_peer_) return Verdict::kPeerFull;
  return Verdict::kAdmitted;
}

bool ConnectionTable::Add(const std::shared_ptr<Connection>& connection,
                          const std::string& address) {
  std::lock_guard lock(mutex_);
  if (sealed_) return false;
  entries_.emplace(connection.get(), Entry{connection, address});
  ++per_peer_[address];
  return true;
}

void ConnectionTable::Remove(const Connection& connection) {
  Entry removed;  // destroyed after the lock is free
  std::lock_guard lock(mutex_);
  const auto at = entries_.find(&connection);
  if (at == entries_.end()) return;
  removed = std::move(at->second);
  entries_.erase(at);
  const auto peer = per_peer_.find(removed.address);
  if (--peer->second == 0) per_peer_.erase(peer);
  if (entries_.empty()) emptied_.notify_all();
}

void ConnectionTable::Seal() {
  std::lock_guard lock(mutex_);
  sealed_ = true;
}

std::vector<std::shared_ptr<Connection>> ConnectionTable::All() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Connection>> out;
  out.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) out.push_back(entry.connection);
  return out;
}

std::size_t ConnectionTable::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

bool ConnectionTable::WaitEmpty(std::int64_t timeout_ms) const {
  std::unique_lock lock(mutex_);
  return emptied_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                           [this] { return entries_.empty(); });
}

}  // namespace yardmaster::http
