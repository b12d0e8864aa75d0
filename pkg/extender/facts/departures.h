// Lists the hosts that will soon be free: what terminating pods and gangs still hold there, and
// when it is expected to be free.
//
//   a gang   its TrainingJob or Gang is being deleted, or it is stopped for another gang: all its
//            promises, until its last pod is gone
//   a set    of pods without a Gang, one of which is being deleted: all of them that are on a node,
//            because the garbage collector deletes Gang and pods of a deleted owner
//   a pod    that is being deleted and belongs to no gang that keeps its host
//
// A pod is expected to be gone at its deletionTimestamp, which the API server sets to the end of
// its grace period; a pod that is not being deleted yet, after the default grace period of 30 s. If
// only a rank is made again, its gang keeps the host and nothing departs. Finished pods hold
// nothing, and a gang whose pods have all finished gives its hosts back at once.
//
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/extender/facts/pass_facts.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::extender {

// Returns the departures by host, then by holder. Omits those that are overdue by more than
// plan::kLeavingSlackMs. REQUIRES: the snapshot.
std::vector<plan::Departure> DeparturesOf(const PassFacts& facts);

}  // namespace yardmaster::extender
