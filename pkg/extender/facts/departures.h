// Hosts that are leaving: what pods and gangs still hold that end, and when it is expected to be
// free.
//
//   a gang   whose TrainingJob or Gang is being deleted, or that makes room for another one: its
//            promises, until its last pod is gone
//   a set    of pods without a Gang of which one is being deleted: all that are on a node. The
//            garbage collector deletes the Gang of a deleted owner among its pods
//   a pod    that is being deleted, of no gang that keeps its host
//
// A pod is expected to be gone at its deletionTimestamp, which the API server sets to the end of
// its grace period; one whose deletion is still to come, after the default grace period. A rank
// that is made again is not leaving: its gang keeps the host. A pod that has finished holds
// nothing, and a gang all of whose pods have finished gives all its hosts back at once.
//
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/extender/facts/pass_facts.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::extender {

// By host, then holder. Without those that should have been free for longer than
// plan::kLeavingSlackMs. REQUIRES: the snapshot.
std::vector<plan::Departure> DeparturesOf(const PassFacts& facts);

}  // namespace yardmaster::extender
