// Finds hosts that the ledger promises twice, and takes the promise back from a gang that has not
// started. The ledger's fence (ledger.h) does not let this happen; this step handles what bypassed
// it: a status written by hand, a restored backup, an extender of a version without the fence.
//
// A host is promised twice when more GPUs of it are promised than it has, to two gangs or more.
// Who keeps it: gangs with a pod on a node before the others, then those with released pods, then
// higher priority, then the earlier commit, then the lower namespace and name. The others lose all
// their hosts together, because a gang is placed all or none, and wait for a place again. Released
// pods of a losing gang are evicted first, and made again behind the gate by their owner. A gang
// with a pod on a node loses nothing: if two such gangs share a host, the pass reports a problem.
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
  NamespacedName loses;  // a gang that comes after what the host has room for
  bool may_lose;         // it has no pod on a node
  bool operator==(const DoublePromise&) const = default;
};

// Of the snapshot: at most one for each losing gang, by host, then in the order of keeping.
// Hosts that are unavailable or have no GPU at present are left alone. O(hosts + promises) while
// there are none.
std::vector<DoublePromise> FindDoublePromises(const PassFacts& facts);

// After the snapshot, which is no longer true once a promise was taken back.
std::vector<Work> RevokeDoublePromises(const PassFacts& facts);

}  // namespace yardmaster::extender
