// Places one gang, all or nothing, on a snapshot.
//
// Problem: map workers to hosts with enough free GPUs such that Required limits hold and Objective
// is minimal in lexicographic order; among equals, least uplink load, then least fragmentation
// (tightest segments first, wholly free segments kept), then hosts that are healthy in segments
// with a free backup, then the lowest ids.
//
// All workers get GPUs of one model unless the job allows several (gpu_models.h). A plan on all
// hosts that keeps to one model is the answer; else each model is planned by itself and the best
// plan is returned, of equal ones that of the first model by name.
//
// Every gang is planned as if all its workers asked for the most of each resource
// (alike_planner.h). Workers that ask for different amounts are also placed role by role
// (role_planner.h), and the better of the two plans is returned.
//
// Determinism: the plan is a function of (cluster, request, options); the order in which hosts were
// listed does not matter. Thread safety: pure function.
#pragma once

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

GangPlan PlanGang(const Cluster& cluster, const GangRequest& request,
                  const PlannerOptions& options = {});

}  // namespace yardmaster::placement
