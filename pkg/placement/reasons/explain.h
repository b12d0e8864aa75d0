// Explains why a gang was not placed, and what would help.
//
// Never is proved by solving the same gang on the empty and healthy fabric; relaxations are found
// by solving the changed gang. Counts are of hosts. Complexity: one solve for the outcome, and one
// or two per relaxation. Deterministic. Thread safety: pure function.
#pragma once

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

// What the search found out about a gang without a place.
enum class NotPlaced {
  kProved,         // it does not fit
  kSearchCut,      // the search was cut before it found segments
  kHostsNotFound,  // segments were found, but no hosts in them for all host sets
};

// Sets outcome (NotNow or Never), reasons and, if options.explain, relaxations.
void Explain(const Cluster& cluster, const GangRequest& request, const GangModel& model,
             const Capacity& now, NotPlaced why, const PlannerOptions& options, GangPlan& plan);

}  // namespace yardmaster::placement
