// Placement problems made by hand or at random. TESTONLY. Thread safety: pure functions.
#pragma once

#include <memory>
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
  bool resources = false;    // AddResources
};
Case RandomCase(Random& random, const CaseLimits& limits);
std::string Describe(const Case& c);
// Requests, and hosts that have different amounts of what they ask for, some of it held.
void AddResources(Random& random, Case& c);
// Domains of some neighbouring hosts of a segment, hosts without one, and limits within Domain;
// `with_units`: and PlacementPolicy::domain_unit. REQUIRES: no resources.
void AddDomains(Random& random, bool with_units, Case& c);
// Workers that a new gang may put on the host.
int RoomOf(const Case& c, fabric::HostId host);

// Larger and wilder than RandomCase: hosts of different sizes, more segments and fabric pods.
// For FindBetter, because BruteForce would take too long (exhaustive.h).
Case WideCase(Random& random);

// Gangs of 8 to 256 workers of any parallelism, order and limits on 10 to 32 segments of unequal
// room: too large to be solved exhaustively.
Case IrregularCase(Random& random);

}  // namespace yardmaster::placement
