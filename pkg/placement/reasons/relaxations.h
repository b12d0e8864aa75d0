// Finds changes that would help a gang that was not placed: looser limits, use of backup hosts,
// waiting, more hosts.
//
// Problem: find the changes of the job's limits that lead to a better outcome than its own, without
// redundant ones. A limit can be loosened, to a wider level or to Preferred, if it is Required
// below Fabric and its groups span workers. Combinations are tried by the number of limits that
// they change, then by the number of levels that they give up, then in the order data, expert,
// context, tensor, pipeline, stages. A combination is omitted if part of it gives the same outcome,
// except that Preferred alone is kept beside a wider level with the same outcome. Every entry
// except the advice to wait is the outcome of planning the changed gang, in at most 2,000 steps. If
// that search is cut without a place, the entry is omitted.
//
// Complexity: one or two solves per combination, at most kMaxCombinations of them, and none if
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
