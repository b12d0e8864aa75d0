// Quick proofs that a gang fits nowhere, by counting, where a search would have to try everything.
//
//   atoms      a segment with room for c workers holds at most c div a of the atoms with a workers
//   or
//              more
//   pod sets   a fabric pod holds at most (room of its segments, each rounded down to whole atoms)
//              div z of the pod sets with z workers or more
//   stages     a segment with at most L stages holds no more workers than the L largest stages
//   have;
//              with L = 1 and stages that must share a fabric pod, every stage covers segments of
//              its own (bin covering, solved exactly per pod up to kMostCovered segments)
//
// With equal atoms, equal pod sets and no limit of stages the counts decide exactly: if none is
// short, the gang fits. Otherwise they are necessary only. Thread safety: pure function.
// Complexity: O(workers + segments * distinct sizes), and 2^kMostCovered for bin covering.
#pragma once

#include "pkg/fabric/places.h"
#include "pkg/placement/capacity.h"
#include "pkg/placement/gang_model.h"

namespace yardmaster::placement {

// True: there is no placement in this capacity. False: there may be one.
bool NoRoom(const fabric::Places& places, const GangModel& model,
            const workload::WorkerGroups& groups, const Capacity& capacity);

}  // namespace yardmaster::placement
