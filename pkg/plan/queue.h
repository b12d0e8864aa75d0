// The order in which waiting jobs are planned, and what they keep from each other.
//
// Order: priority (higher first), then those that are expedited (JobState::expedited_since_ms),
// then creation time, then namespace/name. A job that is expedited, or has waited for its
// reserve_after_ms since it was created or gave its place back, reserves the place that will be
// free first. Others use reserved hosts
// only if they are known to end in time, or are preemptible. A preemptible job, or one that does
// not end when it said, is stopped when the place is needed, regardless of its priority
// (BackfilledAheadOf), so a job with a reservation is not delayed by jobs that did not wait.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pkg/placement/gang_planner.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// Hosts kept for a job that waits.
struct Reservation {
  JobId job;
  std::vector<fabric::HostId> hosts;
  // Wall time in milliseconds at which the last of them is expected to be free; nullopt: unknown.
  std::optional<std::int64_t> start_ms;
};

// The place that `job` should wait for, given the cluster as planned so far: the first that the
// expected ends of running jobs set free, else the least occupied one. nullopt if it fits nowhere.
std::optional<Reservation> Reserve(const Snapshot& snapshot, const placement::Cluster& cluster,
                                   JobId job, const placement::PlannerOptions& options);

// Wall time in milliseconds at which a placed job is expected to end; nullopt: unknown.
std::optional<std::int64_t> ExpectedEndMs(const JobState& state);

// Whether a placed job has run for longer than it said (run_seconds). It may be stopped for any job
// of its priority that waits: otherwise a job could say anything to get ahead of those that
// reserve.
bool RanOver(const Snapshot& snapshot, JobId job);

// Whether `job` is expedited, or has waited as long as its policy asks before it reserves.
bool WaitedLongEnough(const Snapshot& snapshot, JobId job);

// Whether `runs` is a gang that is preemptible, or ran over, and that comes after `job` in the
// queue and started although `job` had a reservation already. It may be stopped for `job`.
bool BackfilledAheadOf(const Snapshot& snapshot, JobId job, JobId runs);

// Whether `job`, started now, may use hosts of `reservation`.
bool MayBackfill(const Snapshot& snapshot, JobId job, const Reservation& reservation);

// The jobs that wait, in the order in which they are planned.
std::vector<JobId> QueueOrder(const Snapshot& snapshot);

}  // namespace yardmaster::plan
