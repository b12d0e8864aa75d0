// QueuePairTable assigns ordinals (plan.h) to queue pairs. A queue pair keeps its ordinal from its
// first transition to RTR until it is destroyed. So a queue pair that is reset and connected again
// keeps its port.
//
// Ordinals are counted for each (local address, remote address, role). The role separates queue
// pairs that only send from those that can receive. Memory is fixed; there is no lock and no
// allocation. If the table is full, Add returns nullptr and the caller does not change the
// connection.
//
// Thread safety: any number of threads; calls for one queue pair come from one thread at a time, as
// verbs requires.
#pragma once

#include <atomic>
#include <cstdint>

#include "pkg/shim/plan.h"

namespace yardmaster::shim {

// kSends: has no receive queue. kReceives: all others.
enum class TransferRole : std::uint8_t { kSends, kReceives };

struct PlannedQueuePair {
  std::atomic<const void*> key = nullptr;
  std::uint32_t number = 0;  // qp_num; differs for a new queue pair at the same address
  std::uint16_t peer = 0;
  std::uint8_t ordinal = 0;
  TransferRole role = TransferRole::kSends;
  bool was_reset = false;     // reset since it was last connected
  bool on_alternate = false;  // uses the alternate port
  std::uint32_t plan = 0;     // generation of the plan of its last connection
  std::uint16_t port = 0;     // planned port
  std::int16_t plane = 0;
};

class QueuePairTable {
 public:
  static constexpr int kConnections = 16384;
  static constexpr int kTablePeers = 2048;

  constexpr QueuePairTable() = default;
  QueuePairTable(const QueuePairTable&) = delete;
  QueuePairTable& operator=(const QueuePairTable&) = delete;

  // Returns the entry of a queue pair; nullptr: none. An entry at the same address with another
  // number belongs to a destroyed queue pair and is removed.
  PlannedQueuePair* Find(const void* queue_pair, std::uint32_t number);
  // Assigns the ordinal below `count` and kMaxOrdinals with the fewest connections. Returns nullptr
  // if `count` is not positive, or if a bounded search finds no free entry. REQUIRES:
  // Find(queue_pair, number) is nullptr.
  PlannedQueuePair* Add(const void* queue_pair, std::uint32_t number, const Endpoint& endpoint,
                        TransferRole role, int count);
  void Remove(const void* queue_pair);

 private:
  struct Peer {
    std::atomic<int> state = 0;  // 0 free, 1 being filled, 2 filled permanently
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
