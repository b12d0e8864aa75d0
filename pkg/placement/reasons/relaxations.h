// What would help a gang that was not placed: smaller wishes, backup hosts, waiting, more hosts.
//
// Problem: find the changes of the job's limits that lead to a better outcome than its own, and
// only those that say something. A limit may be loosened when it is Required below Fabric and
// its groups span workers: to a wider level, or to Preferred. Combinations are tried by the number
// of limits they change, then by the number of levels they give up, then in the order data, expert,
// context, tensor, pipeline, stages; one is left out when part of it comes to the same outcome.
// (Preferred alone is kept beside a wider level that does as well.) Every entry but the advice
// to wait is the outcome of planning the changed gang, in at most 2,000 steps; what a cut search
// could not place is left out.
//
// Complexity: one or two solves per combination, at most kMaxCombinations of them, and none when
// dropping all limits together would not help. Deterministic. Thread safety: pure functions.
#pragma once

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

// Appends to plan.relaxations. REQUIRES: plan.outcome (NotNow or Never) and plan.reasons are set.
void FindRelaxations(const Cluster& cluster, const GangRequest& request, const GangModel& model,
                     const Capacity& now, const Capacity& empty, const PlannerOptions& options,
                     GangPlan& plan);

}  // namespace yardmaster::placement
