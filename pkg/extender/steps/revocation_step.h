// Finds hosts that are promised twice, and revokes the promise of a gang that has not started. The
// ledger's fence (ledger/ledger.h) prevents double promises. This step handles what bypasses it: a
// status written by hand, a restored backup, an extender of a version without the fence.
//
// A host is promised twice if two or more gangs are promised more GPUs of it than it has. The gang
// that comes first in this order keeps the host:
//   1. gangs with a pod on a node, then gangs with released pods, then the others;
//   2. higher priority;
//   3. earlier commit;
//   4. lower namespace and name.
//
// A losing gang loses all its hosts, because a gang is placed all or none, and waits for a place
// again. Its released pods are evicted first; their owner creates them again behind the gate. A
// gang with a pod on a node loses nothing: if two such gangs share a host, the pass reports a
// problem.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

struct DoublePromise {
  std::string host;
  NamespacedName keeps;  // the gang that comes first
  NamespacedName loses;  // a later gang, for which the host has too few GPUs
  bool may_lose;         // `loses` has no pod on a node
  bool operator==(const DoublePromise&) const = default;
};

// Returns at most one entry for each losing gang, by host, then in the order above. Ignores hosts
// that are unavailable or report no GPU. O(hosts + promises) if there is none.
std::vector<DoublePromise> FindDoublePromises(const PassFacts& facts);

// Runs after the snapshot. A revoked promise makes the snapshot stale.
std::vector<Work> RevokeDoublePromises(const PassFacts& facts);

}  // namespace yardmaster::extender
