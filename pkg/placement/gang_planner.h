// Places one gang, all or none, on a snapshot.
//
// Problem: assign workers to hosts with enough free GPUs such that all Required limits hold and the
// Objective is minimal in lexicographic order. Ties are broken by the least uplink load, then the
// least fragmentation (tightest segments first, completely free segments kept), then healthy hosts
// in segments with a free backup, then the lowest ids.
//
// GPU models: all workers get GPUs of one model unless the job allows several (gpu_models.h). If
// the plan on all hosts uses one model, it is the result. Else each model is planned separately and
// the best plan is returned; among equals that of the first model by name.
//
// Workers: every gang is planned as if all its workers requested the maximum of each resource
// (alike_planner.h). If workers request different amounts, they are also placed role by role
// (role_planner.h), and the better plan is returned.
//
// Determinism: a function of (cluster, request, options), independent of the order in which hosts
// were listed. Thread safety: pure function.
#pragma once

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

GangPlan PlanGang(const Cluster& cluster, const GangRequest& request,
                  const PlannerOptions& options = {});

}  // namespace yardmaster::placement
