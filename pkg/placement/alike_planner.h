// Places a gang as if every worker asked for the most of each resource that any of them asks for: a
// host then has one number, the workers that it takes.
//
// Steps: the gang's structure (solver/gang_model.h), the room for it (solver/capacity.h), a segment
// for every worker (solver/gang_solver.h), or a domain (solver/domain_solver.h), a host for every
// worker (solver/host_fill.h); and the reasons, where one of these finds nothing
// (reasons/explain.h). Determinism and thread safety: as gang_planner.h.
#pragma once

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

GangPlan PlanAlike(const Cluster& cluster, const GangRequest& request,
                   const PlannerOptions& options);

}  // namespace yardmaster::placement
