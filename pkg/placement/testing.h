// Random small placement problems and their exhaustive solution, written against the definitions
// (GPU by GPU) and sharing nothing with the planner. TESTONLY. Thread safety: pure functions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_planner.h"

namespace yardmaster::placement {

struct Case {
  Cluster cluster;
  workload::Job job;
  workload::WorkerGroups groups;
  GangRequest request() const { return {&job, &groups, nullptr, -1}; }
};

// Fabric pods of segments of hosts: {{2, 3}, {4}} is two pods, the first of two segments.
Cluster MakeCluster(const std::vector<std::vector<int>>& hosts_of_segment);
// tp, cp, ep, dp, pp; as many workers as that takes.
workload::Job MakeJob(int tensor, int context, int expert, int data, int pipeline,
                      int gpus_per_worker = 8);
Case MakeCase(Cluster cluster, workload::Job job);

struct CaseLimits {
  int workers = 7;
  int segments = 4;
  bool host_limits = false;  // Required within Host may occur
};
Case RandomCase(Random& random, const CaseLimits& limits);
std::string Describe(const Case& c);

// Larger and wilder than RandomCase: hosts of different sizes, more segments and fabric pods.
// For FindBetter, because BruteForce would take too long.
Case WideCase(Random& random);

// The least objective over all placements, or nothing if there is none.
std::optional<Objective> BruteForce(const Case& c);

// The objective of some placement that is better than `than` (or of any, if nothing is given), by
// exhaustive search that leaves out only what is no better already. Nothing: there is none.
std::optional<Objective> FindBetter(const Case& c, const std::optional<Objective>& than);

// Everything wrong with a placement: room, health, Required limits. Empty: valid.
std::string Faults(const Case& c, const std::vector<fabric::HostId>& host_of_rank);

}  // namespace yardmaster::placement
