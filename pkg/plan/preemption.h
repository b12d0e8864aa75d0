// Which running gangs to stop so that a waiting one, or a replacement, gets its place.
//
// Victims have a lower priority (and the job may preempt), or the same and ran for longer than they
// said, or are preemptible and jumped the queue past the job's reservation (queue.h); no gang of
// equal priority is stopped otherwise, none that a disruption budget protects, no more of a
// budget's pods than it allows, and none for a job that would still not fit. The place is one that
// the planner would choose, with all of the job's limits: gangs that are not on it are spared.
//
// Cheapest: least priority of the most important victim, then the fewest GPUs stopped, then
// the better place by the objective, then the fewest gangs, then the lowest ids. Sets that free one
// segment, one fabric pod, any place, or are a single gang, each thinned out until no gang can be
// spared, give a first answer; branch and bound over all sets proves it or finds a cheaper one, and
// says so when it ran out of plans (`cheapest`).
//
// Carrying a decision out (checkpoint, eviction, back to the queue) is the caller's part.
//
// Complexity: a solve for each set. The first answer tries one set for each segment, fabric pod and
// candidate and each thinning of them, for each priority that may be enough; branch and bound tries
// `max_plans` more. Deterministic. Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/placement/gang_planner.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

struct PreemptionOptions {
  placement::PlannerOptions placement;
  int max_plans = 200;  // sets of victims that branch and bound tries
};

struct Preemption {
  std::vector<JobId> victims;  // ascending; empty: none is needed
  placement::GangPlan gang;    // where the job goes once they are gone
  bool cheapest = true;        // false: not every set was tried
  int grace_seconds = 0;       // the longest that a victim is given to write a checkpoint
  // The victims, the place and the grace period: one sentence for events, conditions and reports.
  std::string why;
};

// nullopt: no set of victims helps. REQUIRES: the job has no assignment.
std::optional<Preemption> PlanPreemption(const Snapshot& snapshot, JobId job,
                                         const PreemptionOptions& options = {});

// Victims among preemptible jobs that run on lent spares, so that the lost ranks of a placed job
// find hosts. nullopt: no set helps.
std::optional<Preemption> PlanTakeBack(const Snapshot& snapshot, JobId job);

}  // namespace yardmaster::plan
