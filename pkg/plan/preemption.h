// Chooses running gangs to stop so that a waiting gang gets a place, or a lost rank a replacement.
//
// A gang may be a victim if
//   - its priority is lower and the job may preempt; or
//   - its priority is equal and it has run longer than it declared; or
//   - it is preemptible, or has run longer than it declared, and started after the job had a
//     reservation, ahead of which it jumped the queue (BackfilledAheadOf in queue.h).
// No gang is stopped if a disruption budget protects it, nor more pods of a budget than it allows,
// nor for a job that would still not fit. The place is one that the planner would choose, within
// all limits of the job; gangs outside of it are spared.
//
// The cheapest set is chosen: lowest priority of its most important victim, then the fewest GPUs
// stopped, then the better place by the objective, then the fewest gangs, then the lowest ids. A
// first answer comes from the sets that free one segment, one fabric pod, any place, or a single
// gang, each reduced until no gang can be spared. Branch and bound over all sets then proves it or
// finds a cheaper one; `cheapest` is false if it ran out of plans.
//
// The caller carries the decision out (checkpoint, eviction, back to the queue).
//
// Complexity: one solve per set. The first answer tries one set for each segment, fabric pod and
// candidate, and each reduction of them, for each priority that may suffice; branch and bound tries
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
  placement::GangPlan gang;    // the place of the job once they are gone
  bool cheapest = true;        // false: not every set was tried
  int grace_seconds = 0;       // the longest grace period of a victim, to write a checkpoint
  // One sentence for events, conditions and reports: victims, place and grace period.
  std::string why;
};

// Returns the cheapest set; nullopt: no set of victims helps. REQUIRES: the job has no assignment.
std::optional<Preemption> PlanPreemption(const Snapshot& snapshot, JobId job,
                                         const PreemptionOptions& options = {});

// Chooses victims among preemptible jobs on lent spares, so that the lost ranks of a placed job
// find hosts. nullopt: no set helps.
std::optional<Preemption> PlanTakeBack(const Snapshot& snapshot, JobId job);

}  // namespace yardmaster::plan
