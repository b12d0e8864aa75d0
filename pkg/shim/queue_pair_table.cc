#include "pkg/shim/queue_pair_table.h"

namespace yardmaster::shim {

namespace {

constexpr int kMaxProbes = 256;

// A place that was used and is free again: probes go on beyond it.
const char kGone = 0;

std::size_t Mixed(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  return static_cast<std::size_t>(value);
}

std::size_t HashOf(const Endpoint& endpoint) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (int i = 0; i < 16; ++i) hash = (hash ^ endpoint.local.bytes[i]) * 0x100000001b3ULL;
  for (int i = 0; i < 16; ++i) hash = (hash ^ endpoint.remote.bytes[i]) * 0x100000001b3ULL;
  return Mixed(hash);
}

}  // namespace

PlannedQueuePair* QueuePairTable::Find(const void* queue_pair, std::uint32_t number) {
  const std::size_t begin = Mixed(reinterpret_cast<std::uintptr_t>(queue_pair));
  for (int probe = 0; probe < kMaxProbes; ++probe) {
    PlannedQueuePair& connection = connections_[(begin + probe) % kConnections];
    const void* key = connection.key.load();
    if (key == nullptr) return nullptr;
    if (key != queue_pair) continue;
    if (connection.number == number) return &connection;
    // Destroyed behind our back and made again at the same address.
    Release(connection);
    return nullptr;
  }
  return nullptr;
}

int QueuePairTable::PeerOf(const Endpoint& endpoint) {
  const std::size_t begin = HashOf(endpoint);
  for (int probe = 0; probe < kMaxProbes; ++probe) {
    const std::size_t at = (begin + probe) % kTablePeers;
    Peer& peer = peers_[at];
    int state = peer.state.load();
    if (state == 0 && peer.state.compare_exchange_strong(state, 1)) {
      peer.local = endpoint.local;
      peer.remote = endpoint.remote;
      peer.state.store(2);
      return static_cast<int>(at);
    }
    // Another thread fills it; two copies of addresses take no time, unless the process was forked
    // in the middle: then the place stays unusable.
    for (int spins = 0; peer.state.load() == 1 && spins < 100'000; ++spins) {
    }
    if (peer.state.load() == 2 && peer.local == endpoint.local && peer.remote == endpoint.remote) {
      return static_cast<int>(at);
    }
  }
  return -1;
}

PlannedQueuePair* QueuePairTable::Add(const void* queue_pair, std::uint32_t number,
                                      const Endpoint& endpoint, TransferRole role, int count) {
  const int at = PeerOf(endpoint);
  if (at < 0 || count <= 0) return nullptr;
  PlannedQueuePair* free = nullptr;
  const std::size_t begin = Mixed(reinterpret_cast<std::uintptr_t>(queue_pair));
  for (int probe = 0; probe < kMaxProbes && free == nullptr; ++probe) {
    PlannedQueuePair& connection = connections_[(begin + probe) % kConnections];
    const void* key = connection.key.load();
    if (key != nullptr && key != &kGone) continue;
    if (connection.key.compare_exchange_strong(key, queue_pair)) free = &connection;
  }
  if (free == nullptr) return nullptr;

  auto& live = peers_[at].live[static_cast<int>(role)];
  int ordinal = 0;
  for (;;) {
    std::uint16_t fewest = live[ordinal = 0].load();
    for (int i = 1; i < count && i < kMaxOrdinals; ++i) {
      const std::uint16_t here = live[i].load();
      if (here < fewest) {
        fewest = here;
        ordinal = i;
      }
    }
    if (live[ordinal].compare_exchange_weak(fewest, static_cast<std::uint16_t>(fewest + 1))) break;
  }
  free->number = number;
  free->peer = static_cast<std::uint16_t>(at);
  free->ordinal = static_cast<std::uint8_t>(ordinal);
  free->role = role;
  free->was_reset = free->on_alternate = false;
  free->plan = 0;
  free->port = 0;
  free->plane = 0;
  return free;
}

void QueuePairTable::Release(PlannedQueuePair& connection) {
  peers_[connection.peer].live[static_cast<int>(connection.role)][connection.ordinal].fetch_sub(1);
  connection.key.store(&kGone);
}

void QueuePairTable::Remove(const void* queue_pair) {
  const std::size_t begin = Mixed(reinterpret_cast<std::uintptr_t>(queue_pair));
  for (int probe = 0; probe < kMaxProbes; ++probe) {
    PlannedQueuePair& connection = connections_[(begin + probe) % kConnections];
    const void* key = connection.key.load();
    if (key == nullptr) return;
    if (key == queue_pair) return Release(connection);
  }
}

}  // namespace yardmaster::shim
