// Places one gang, all or nothing, on a snapshot.
//
// Problem: map workers to hosts with enough free GPUs such that Required limits hold and Objective
// is minimal in lexicographic order; among equals, least uplink load, then least fragmentation
// (tightest segments first, wholly free segments kept), then hosts that are healthy in segments
// with a free backup, then the lowest ids.
//
// Workers that ask for different amounts are placed role by role (role_planner.h).
//
// Determinism: the plan is a function of (cluster, request); the order in which hosts were listed
// does not matter. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/placement/cluster.h"
#include "pkg/placement/outcome.h"
#include "pkg/workload/job.h"

namespace yardmaster::placement {

// One gang to place. Pointees must live during the call.
struct GangRequest {
  const workload::Job* job = nullptr;
  const workload::WorkerGroups* groups = nullptr;  // GroupsOf(job)
  // By HostId: whether the pod template allows the host (selectors, tolerations, GPU model). Empty:
  // all.
  const std::vector<std::uint8_t>* eligible = nullptr;
  // Index of the job in the queue, to be compared with HostState::reserved_for.
  std::int32_t queue_index = -1;
};

struct PlannerOptions {
  // Search steps before the exact search is cut and the result says so. A step takes about half a
  // microsecond: the default keeps the hardest gangs known near 0.1 s, explained ones near 0.2 s.
  std::int64_t max_steps = 150'000;
  bool explain = true;  // compute reasons in full and relaxations (costs further planning)
};

GangPlan PlanGang(const Cluster& cluster, const GangRequest& request,
                  const PlannerOptions& options = {});

// Where `host_of_rank` (all ranks set) would stand by the objective.
Objective Evaluate(const fabric::Places& places, const workload::WorkerGroups& groups,
                   const std::vector<fabric::HostId>& host_of_rank);

}  // namespace yardmaster::placement
