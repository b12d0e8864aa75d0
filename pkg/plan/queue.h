// The order in which waiting jobs are planned, and the hosts that they reserve.
//
// Order: higher priority first; then expedited jobs (JobState::expedited_since_ms); then by
// creation time; then by namespace and the owner's name; then by the Gang's name.
//
// Reservations: a job reserves the place that will be free first, if it is expedited, or has waited
// for its reserve_after_ms since it was created or gave its last place back. Other jobs may use
// reserved hosts only if they are known to end in time, or are preemptible. A preemptible job, or
// one that runs longer than it declared, is stopped when the place is needed, whatever its priority
// (BackfilledAheadOf). So jobs that did not wait cannot delay a job with a reservation.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pkg/placement/gang_planner.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// Hosts kept for a waiting job.
struct Reservation {
  JobId job;
  std::vector<fabric::HostId> hosts;
  // Wall time in ms at which the last of them is expected to be free; nullopt: unknown.
  std::optional<std::int64_t> start_ms;
};

// Returns the place for which `job` should wait, given the cluster as planned so far: the one that
// the expected ends of running jobs free first, else the least occupied one. nullopt if it fits
// nowhere.
std::optional<Reservation> Reserve(const Snapshot& snapshot, const placement::Cluster& cluster,
                                   JobId job, const placement::PlannerOptions& options);

// Returns the wall time in ms at which a placed job is expected to end; nullopt: unknown.
std::optional<std::int64_t> ExpectedEndMs(const JobState& state);

// True if a placed job has run longer than it declared (run_seconds). It may be stopped for any
// waiting job of its priority, so that a job gains nothing by declaring too short a time.
bool RanOver(const Snapshot& snapshot, JobId job);

// True if `job` is expedited, or has waited for its reserve_after_ms.
bool WaitedLongEnough(const Snapshot& snapshot, JobId job);

// True if `runs` is preemptible or has run longer than it declared, comes after `job` in the queue,
// and started although `job` already had a reservation. It may be stopped for `job`.
bool BackfilledAheadOf(const Snapshot& snapshot, JobId job, JobId runs);

// True if `job`, started now, may use hosts of `reservation`.
bool MayBackfill(const Snapshot& snapshot, JobId job, const Reservation& reservation);

// Returns the waiting jobs in planning order.
std::vector<JobId> QueueOrder(const Snapshot& snapshot);

}  // namespace yardmaster::plan
