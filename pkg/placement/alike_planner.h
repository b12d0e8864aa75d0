// Places a gang as if every worker requested the maximum of each resource over all workers. A host
// then has one number: how many workers it takes.
//
// Steps: the gang's structure (solver/gang_model.h); the capacity for it (solver/capacity.h); a
// segment (solver/gang_solver.h) or a domain (solver/domain_solver.h) for every worker; a host for
// every worker (solver/host_fill.h). If a step finds nothing: the reasons (reasons/explain.h).
//
// Determinism and thread safety: as gang_planner.h.
#pragma once

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

GangPlan PlanAlike(const Cluster& cluster, const GangRequest& request,
                   const PlannerOptions& options);

}  // namespace yardmaster::placement
