// Who has the hosts that a gang does not get: the reason HostsOccupied, by name.
//
// Deterministic: holders of more hosts first, then by name. Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/placement/outcome.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// A job and the hosts that it has now.
struct HoldingJob {
  JobId job;
  const std::vector<fabric::HostId>* host_of_rank = nullptr;  // never null
};

// The placed jobs of a snapshot. They point into it.
std::vector<HoldingJob> HoldingJobs(const Snapshot& snapshot);

// Writes who has gang.occupied into the message of the reason HostsOccupied, and empties the list:
// "8 hosts held by TrainingJob default/bert (running, priority 0) and 3 by 3 ordinary pods
// (priority 0: default/a, default/b and 1 more), which are not stopped for gangs". A host with
// several holders counts for the one with the most GPUs there. O(hosts + ranks of `jobs`).
void NameHolders(const Snapshot& snapshot, const std::vector<HoldingJob>& jobs,
                 placement::GangPlan& gang);

}  // namespace yardmaster::plan
