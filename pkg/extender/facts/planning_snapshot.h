// The one snapshot on which a pass plans, made in one place from the facts of the pass: the gangs
// that are planned, and for every host that something holds a Hold with its reason and holder.
//
// Which gangs are planned: those with a place, and of the others those all of whose pods are there
// and say what the Gang says, that nothing keeps (isolation, back-off, another controller, gangs of
// higher priority that are yet to be made), and none of whose pods runs or names a host. What
// eligible hosts a gang has now: eligible_hosts.h.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/extender/facts/host_hold.h"
#include "pkg/extender/facts/pass_facts.h"

namespace yardmaster::extender {

// The objects that a snapshot is made of (state/snapshot_builder.h).
state::ClusterState PlannedObjects(const PassFacts& facts);
// A gang whose pods and status threw when they were read into the snapshot, and what.
struct Unreadable {
  NamespacedName gang;
  std::string error;
};
// The facts get the snapshot that was made of these objects, and its holds. Gangs that are returned
// must not be planned on it.
std::vector<Unreadable> SetSnapshot(plan::Snapshot snapshot, PassFacts& facts);

// By host name. Of all isolated gangs, indeterminate writes and decisions to stop gangs.
std::vector<Hold> HoldsOf(const PassFacts& facts);
std::vector<Hold> PreemptionHolds(const api::Gang& gang);
// One for each rank that is promised a host next on which no rank of its role has its place now, or
// more of them than have. Snapshots that are made after the promise count what it holds there.
std::vector<Hold> MoveHolds(const api::Gang& gang);
// One for each rank that would have another host than it has.
std::vector<Hold> IndeterminateHolds(const PassFacts& facts, const api::Gang& attempted);
// Adds them to facts.holds, and takes the hosts off the snapshot. REQUIRES: the snapshot.
void AddHolds(std::vector<Hold> holds, PassFacts& facts);

// A placed job with the size that its owner wants. REQUIRES: job.resize.
plan::JobState Resized(const plan::JobState& job);
// GPUs of hosts that are promised to a job as its next ones, beyond those that it has there.
std::map<fabric::HostId, std::int64_t> MoreGpusNext(const plan::JobState& job);
// GPUs of each host that are promised to placed jobs, as their present hosts or as next ones.
std::vector<std::int64_t> PromisedGpus(const plan::Snapshot& snapshot);

}  // namespace yardmaster::extender
