// Which connection has which ordinal (plan.h). A queue pair keeps its ordinal from its first way to
// RTR until it is destroyed, so that one that is reset and connected again has the same place.
//
// Fixed memory, no lock, no allocation. Ordinals are counted for each (local address, remote
// address, role), where the role keeps queue pairs that only send apart from those that can
// receive. Thread safety: any number of threads; calls for one queue pair come from one thread at a
// time, as verbs have it. A table that is full says so, and its caller passes through.
#pragma once

#include <atomic>
#include <cstdint>

#include "pkg/shim/plan.h"

namespace yardmaster::shim {

// kSends: has no receive queue. kReceives: all others.
enum class TransferRole : std::uint8_t { kSends, kReceives };

struct PlannedQueuePair {
  std::atomic<const void*> key = nullptr;
  std::uint32_t number = 0;  // qp_num: a queue pair made at a destroyed one's place has another
  std::uint16_t peer = 0;
  std::uint8_t ordinal = 0;
  TransferRole role = TransferRole::kSends;
  bool was_reset = false;     // since it was last connected
  bool on_alternate = false;  // uses the alternate port
  std::uint32_t plan = 0;     // generation of the plan it was last connected by
  std::uint16_t port = 0;     // planned for it
  std::int16_t plane = 0;
};

class QueuePairTable {
 public:
  static constexpr int kConnections = 16384;
  static constexpr int kTablePeers = 2048;

  constexpr QueuePairTable() = default;
  QueuePairTable(const QueuePairTable&) = delete;
  QueuePairTable& operator=(const QueuePairTable&) = delete;

  // The connection of a queue pair; nullptr: it has none. An entry at the same address with another
  // number is of a destroyed queue pair and is removed.
  PlannedQueuePair* Find(const void* queue_pair, std::uint32_t number);
  // Gives it the ordinal, below `count` and kMaxOrdinals, with the fewest connections. nullptr:
  // `count` is not positive, or no free place was found in a bounded search.
  // REQUIRES: Find(queue_pair, number) is nullptr.
  PlannedQueuePair* Add(const void* queue_pair, std::uint32_t number, const Endpoint& endpoint,
                        TransferRole role, int count);
  void Remove(const void* queue_pair);

 private:
  struct Peer {
    std::atomic<int> state = 0;  // 0 free, 1 being filled, 2 filled for ever
    Address local;
    Address remote;
    std::atomic<std::uint16_t> live[2][kMaxOrdinals] = {};
  };

  int PeerOf(const Endpoint& endpoint);
  void Release(PlannedQueuePair& connection);

  PlannedQueuePair connections_[kConnections] = {};
  Peer peers_[kTablePeers] = {};
};

}  // namespace yardmaster::shim
