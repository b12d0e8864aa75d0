// Whether a gang whose workers ask for different amounts can be proved to have no place at all. The search role by role
// (role_planner.h) does not find every place, so that it finds none is no proof.
//
// Three problems that every placement of the gang also solves: all that the workers ask for together within all that
// there is; the same gang where every worker asks for the least of each resource; and the workers of one role, with
// the parts of the gang's groups that they have. Where one of them has no solution, neither has the gang.
//
// Complexity: one plan for each role and one more. Determinism and thread safety: as gang_planner.h.
#pragma once

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"

namespace yardmaster::placement {

// True: the gang has no place on `empty`, a fabric on which nothing is held. False: it has one, or it is not known.
// REQUIRES: the job has two roles or more.
bool RolesNeverFit(const Cluster& empty, const GangRequest& request, const PlannerOptions& options);

}  // namespace yardmaster::placement
