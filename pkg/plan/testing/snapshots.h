// Small snapshots for tests. TESTONLY. Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/fabric/spec.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// All hosts free and healthy; the last of each segment are backup hosts as the spec says.
Snapshot MakeSnapshot(const fabric::FabricSpec& spec);

// A waiting job of `hosts` workers with one data group over tensor groups of 8 GPUs. The reference
// holds until the next job is added.
JobState& AddJob(Snapshot& snapshot, const std::string& name, int hosts);
// With any parallelism.
JobState& AddJob(Snapshot& snapshot, const std::string& name,
                 const workload::Parallelism& parallelism, int gpus_per_worker);

// The one that was added last.
inline JobId LastJob(const Snapshot& snapshot) {
  return JobId(static_cast<std::int32_t>(snapshot.jobs.size()) - 1);
}

// Commits a job to hosts.
void Place(Snapshot& snapshot, JobId job, const std::vector<fabric::HostId>& host_of_rank);

// What became of a job. REQUIRES: the plan has it.
const JobPlan& Of(const Plan& plan, JobId job);

// `count` hosts of a segment, from its `first` on.
std::vector<fabric::HostId> HostsOfSegment(const Snapshot& snapshot, int segment, int first,
                                           int count);
std::vector<fabric::HostId> Joined(std::vector<fabric::HostId> a,
                                   const std::vector<fabric::HostId>& b);

// The backup hosts of a snapshot once its policy was applied, by id.
std::vector<int> PoolOf(Snapshot snapshot);

}  // namespace yardmaster::plan
