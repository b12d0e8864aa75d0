// Which running gangs to stop so that a waiting one, or a replacement, gets its place.
//
// Victims are gangs of lower priority that no disruption budget protects; none is chosen for a job
// that would still not fit. Cheapest: first the lowest highest priority among them, then the fewest
// GPUs stopped, then the fewest gangs, then the lowest ids. Candidate sets are those that free room
// in one segment, in one fabric pod, and anywhere, each thinned out until none can be left out, and
// every single gang; so the set is minimal (no victim is spared for nothing), and the cheapest
// among those tried. Stopping itself (grace period, checkpoint, re-queueing) is the caller's part.
//
// Complexity: one solve per candidate set and per victim tried. Deterministic. Thread safety: pure.
#pragma once

#include <optional>
#include <vector>

#include "pkg/placement/gang_planner.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

struct Preemption {
  std::vector<int> victims;  // indices into Snapshot::jobs, ascending; empty: none is needed
  placement::GangPlan gang;  // where the job goes once they are gone
};

// Nothing: no set of victims helps. REQUIRES: the job has no assignment.
std::optional<Preemption> PlanPreemption(const Snapshot& snapshot, int job,
                                         const placement::PlannerOptions& options = {});

// Victims among preemptible jobs that run on lent spares, so that the lost ranks of a placed job
// find hosts. Nothing: no set helps.
std::optional<Preemption> PlanTakeBack(const Snapshot& snapshot, int job);

}  // namespace yardmaster::plan
