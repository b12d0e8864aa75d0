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

// What is known of a gang that has no place now.
enum class NotPlaced {
  kProved,         // it does not fit
  kSearchCut,      // no segments were found before the search was cut
  kHostsNotFound,  // segments were found, and in these no hosts for all host sets
};

// Fills in outcome (NotNow or Never), reasons and, if options.explain, relaxations.
void Explain(const Cluster& cluster, const GangRequest& request, const GangModel& model,
             const Capacity& now, NotPlaced why, const PlannerOptions& options, GangPlan& plan);

}  // namespace yardmaster::placement
