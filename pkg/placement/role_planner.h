// Places a gang whose workers request different amounts (workload::Role) or may use different hosts
// (role_hosts.h), role by role, under the objective of the whole gang.
//
// alike_planner.h treats such a gang as if every worker requested the maximum of each resource. It
// may then find no place, or only a wider one: for example if a leader needs more memory than any
// host has free and its workers do not, or if a launcher needs one GPU beside workers of eight.
//
// Method: each role is planned with its own requests, within one segment, else one fabric pod, else
// the fabric. Three orders of the roles are tried until one succeeds: the role with the least room
// first; the same role last; the role with the most GPUs first. Of all places found, including that
// of alike_planner.h, the one with the lowest objective is returned, then the one with the least
// room left around it, then the lowest id. If GPUs differ between roles, a place found role by role
// is preferred to an equal one of alike_planner.h, which would use a whole host for a worker that
// fits beside others.
//
// Guarantees: every Required limit of the whole gang holds. A place in one segment is optimal. For
// other places that is not known, and an existing place may be missed, because roles are not
// searched together. Complexity: up to six plans (three orders, near the others and anywhere) for
// each role and each segment or fabric pod with room; the first segment that takes the gang ends
// the search. Determinism and thread safety: as gang_planner.h.
#pragma once

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

// `alike`: the plan of alike_planner.h. It is returned if only the hosts differ and its search was
// not cut. Its outcome Never is kept only if it is proved for the roles (role_proof.h).
GangPlan PlanRoles(const Cluster& cluster, const GangRequest& request,
                   const PlannerOptions& options, GangPlan alike);

}  // namespace yardmaster::placement
