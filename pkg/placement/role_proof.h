// Proves that a gang whose workers request different amounts has no place on a fabric. The search
// role by role (role_planner.h) is a heuristic: it can miss a placement, so its failure proves
// nothing.
//
// Every placement of the gang also solves three relaxed problems. If one of them has no solution,
// the gang has none:
//   1. The sum of all requests is at most the sum of what the hosts have.
//   2. The same gang, in which every worker requests the least amount of each resource that any
//      role requests.
//   3. The workers of one role alone, with those parts of the gang's groups that lie among them.
//
// Complexity: one plan for each role and one more. Determinism and thread safety: as
// gang_planner.h.
#pragma once

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"

namespace yardmaster::placement {

// True: the gang has no place on `empty`, a fabric on which nothing is held. False: it has one, or
// it is not known. REQUIRES: the job has two roles or more.
bool RolesNeverFit(const Cluster& empty, const GangRequest& request, const PlannerOptions& options);

}  // namespace yardmaster::placement
