// Places a gang whose workers ask for different amounts (workload::Role) or may use different hosts
// (role_hosts.h), role by role, under the objective of the whole gang.
//
// alike_planner.h counts such a gang as if every worker asked for the most of each resource. That
// may find no place, or a wider one, where a leader needs more memory than any host has left and
// its workers do not, or a launcher needs one GPU beside workers of eight. Here each role is
// planned with what it asks for, within one segment, else one fabric pod, else the fabric. Three
// orders of the roles are tried until one succeeds: the role with the least room first, the same
// role last, the role with the most GPUs first. Of all places found, and that of the largest shape,
// the one with the least objective is taken, then the one with the least room left around it, then
// the lowest id. Where GPUs differ, a place found role by role is preferred to an equal one of the
// largest shape, which would open a host for a worker that fits beside others.
//
// Every Required limit of the whole gang holds. A place in one segment is optimal; of others that
// is not known, and a place that exists may not be found: roles are not searched together.
// Complexity: up to six plans (three orders of the roles, near the others and anywhere) for each
// role and each segment or fabric pod with room; the first segment that takes the gang ends it.
// Determinism and thread safety: as gang_planner.h.
#pragma once

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

// `alike` is the plan of the largest shape. It stands where only the hosts differ and its search
// was not cut; else its Never is kept only where it is proved for the roles (role_proof.h).
GangPlan PlanRoles(const Cluster& cluster, const GangRequest& request,
                   const PlannerOptions& options, GangPlan alike);

}  // namespace yardmaster::placement
