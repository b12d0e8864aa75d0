// Why a gang was not placed, and what would help.
//
// Never is proved by solving the same gang on the fabric empty and healthy; relaxations by solving
// the changed gang. Counts are of hosts. Complexity: one solve for the outcome and one or two per
// relaxation. Deterministic. Thread safety: pure function.
#pragma once

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

// Fills in outcome (NotNow or Never), reasons and, if options.explain, relaxations. `proved`: the
// gang is known not to fit now, not merely not found.
void Explain(const Cluster& cluster, const GangRequest& request, const GangModel& model,
             const Capacity& now, bool proved, const PlannerOptions& options, GangPlan& plan);

}  // namespace yardmaster::placement
