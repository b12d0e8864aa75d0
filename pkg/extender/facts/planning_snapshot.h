// Makes the one snapshot on which a pass plans: the gangs that are planned, and a Hold with reason
// and holder for each host that something holds.
//
// These gangs are planned:
//   - gangs with a place, unless they have finished or are isolated;
//   - gangs that may be placed before their pods (placed_first.h);
//   - gangs whose pods all exist and match the Gang, none of which is bound, names a host or is
//     left to another controller.
// Without a place, isolated gangs and gangs that steps left out are not planned; nor, unless others
// were stopped for them, gangs that back off and gangs of lower priority than one whose Gang this
// pass had no time to create.
//
// eligible_hosts.h has the hosts that each gang may use now.
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

// Returns the objects from which the snapshot is built (state/snapshot_builder.h).
state::ClusterState PlannedObjects(const PassFacts& facts);
// A gang for which reading its pods and status into the snapshot threw an exception, and the
// exception's text.
struct Unreadable {
  NamespacedName gang;
  std::string error;
};
// Stores in `facts` the snapshot that was built from these objects, and its holds. The returned
// gangs must not be planned on it.
std::vector<Unreadable> SetSnapshot(plan::Snapshot snapshot, PassFacts& facts);

// Returns the holds of all isolated gangs, then of all preemptions, then of all writes that may
// still take effect.
std::vector<Hold> HoldsOf(const PassFacts& facts);
std::vector<Hold> PreemptionHolds(const api::Gang& gang);
// Returns a hold for each rank of a moving gang whose next host has no place of its role that the
// gang holds now. Snapshots that are built after the promise already count these hosts.
std::vector<Hold> MoveHolds(const api::Gang& gang);
// Returns a hold for each rank that would get another host than it has.
std::vector<Hold> IndeterminateHolds(const PassFacts& facts, const api::Gang& attempted);
// Adds `holds` to facts.holds and removes what they hold from the snapshot. REQUIRES: the snapshot.
void AddHolds(std::vector<Hold> holds, PassFacts& facts);

// Returns the placed job with the size that its owner wants. REQUIRES: job.resize.
plan::JobState Resized(const plan::JobState& job);
// Returns the GPUs that are promised to a job on its next hosts, beyond those that it has there.
std::map<fabric::HostId, std::int64_t> MoreGpusNext(const plan::JobState& job);
// Returns, by HostId, the GPUs that are promised to placed jobs on present and next hosts.
std::vector<std::int64_t> PromisedGpus(const plan::Snapshot& snapshot);

}  // namespace yardmaster::extender
