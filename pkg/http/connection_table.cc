#include "pkg/http/connection_table.h"

#include <algorithm>
#include <chrono>

namespace yardmaster::http {

namespace {

// A flood must not cost a look at every connection for each that it opens.
constexpr int kCandidates = 64;

}  // namespace

ConnectionTable::Admission ConnectionTable::Admit(const std::string& address, std::int64_t now_ms) {
  MutexLock lock(mutex_);
  if (sealed_) return {Verdict::kClosed, nullptr};
  const auto peer = per_peer_.find(address);
  if (peer != per_peer_.end() && peer->second >= max_per_peer_) {
    auto evicted = Evict(&address, now_ms);
    const bool found = evicted != nullptr;
    return {found ? Verdict::kAdmitted : Verdict::kPeerFull, std::move(evicted)};
  }
  if (others_ + std::max(trusted_, reserved_) < most_) return {};
  auto evicted = Evict(nullptr, now_ms);
  const bool found = evicted != nullptr;
  return {found ? Verdict::kAdmitted : Verdict::kFull, std::move(evicted)};
}

// `address`: of this client; null: of the one with most connections.
std::shared_ptr<Connection> ConnectionTable::Evict(const std::string* address,
                                                   std::int64_t now_ms) {
  int considered = 0;
  Entry* best = nullptr;
  std::int64_t best_peer = 0;
  std::int64_t best_since = 0;
  bool best_used = false;
  for (auto& [number, entry] : entries_) {
    if (entry.trusted || entry.leaving || (address != nullptr && entry.address != *address)) {
      continue;
    }
    const auto since = entry.connection->WaitingSinceMs();
    const bool used = entry.connection->used();
    if (!since || (used && now_ms - *since < kIdleGraceMs)) continue;
    if (address == nullptr && ++considered > kCandidates) break;
    const std::int64_t peer = per_peer_[entry.address];
    const bool better =
        best == nullptr || peer > best_peer ||
        (peer == best_peer && (used < best_used || (used == best_used && *since < best_since)));
    if (!better) continue;
    best = &entry;
    best_peer = peer;
    best_since = *since;
    best_used = used;
  }
  if (best == nullptr) return nullptr;
  Discount(*best);
  best->leaving = true;
  return best->connection;
}

void ConnectionTable::Discount(const Entry& entry) {
  if (entry.leaving) return;
  const auto peer = per_peer_.find(entry.address);
  if (--peer->second == 0) per_peer_.erase(peer);
  --(entry.trusted ? trusted_ : others_);
}

bool ConnectionTable::Add(const std::shared_ptr<Connection>& connection,
                          const std::string& address) {
  MutexLock lock(mutex_);
  if (sealed_) return false;
  const std::uint64_t number = next_number_++;
  entries_.emplace(number, Entry{connection, address});
  number_of_.emplace(connection.get(), number);
  ++per_peer_[address];
  ++others_;
  return true;
}

std::string ConnectionTable::Trust(const Connection& connection) {
  MutexLock lock(mutex_);
  const auto number = number_of_.find(&connection);
  if (number == number_of_.end()) return "";
  Entry& entry = entries_.at(number->second);
  if (!entry.trusted && !entry.leaving) {
    --others_;
    ++trusted_;
    entry.trusted = true;
  }
  return entry.address;
}

void ConnectionTable::Remove(const Connection& connection) {
  Entry removed;  // destroyed after the lock is free
  MutexLock lock(mutex_);
  const auto number = number_of_.find(&connection);
  if (number == number_of_.end()) return;
  const auto at = entries_.find(number->second);
  Discount(at->second);
  removed = std::move(at->second);
  entries_.erase(at);
  number_of_.erase(number);
  if (entries_.empty()) emptied_.notify_all();
}

void ConnectionTable::Seal() {
  MutexLock lock(mutex_);
  sealed_ = true;
}

std::vector<std::shared_ptr<Connection>> ConnectionTable::All() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Connection>> out;
  out.reserve(entries_.size());
  for (const auto& [number, entry] : entries_) out.push_back(entry.connection);
  return out;
}

std::size_t ConnectionTable::size() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

bool ConnectionTable::WaitEmpty(std::int64_t timeout_ms) const {
  MutexLock lock(mutex_);
  return emptied_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                           [this]()
                               ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return entries_.empty(); });
}

}  // namespace yardmaster::http
