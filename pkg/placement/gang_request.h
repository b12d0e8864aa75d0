// One gang to be placed, and how hard to search for its place: what all planners of this folder
// take. Thread safety: values; pointees must live during the call.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/role_hosts.h"
#include "pkg/workload/job.h"

namespace yardmaster::placement {

struct GangRequest {
  const workload::Job* job = nullptr;
  const workload::WorkerGroups* groups = nullptr;  // GroupsOf(job)
  // Hosts that some pod template of the gang allows (selectors, tolerations, GPU model). Null or
  // empty: all.
  const HostSet* eligible = nullptr;
  // The job's number, compared with HostState::reserved_for (pkg/plan: the JobId's value). -1:
  // none.
  std::int32_t queue_index = -1;
  // Of these hosts, those that each run of ranks may use. Null: each rank all of them.
  const std::vector<RoleHosts>* role_hosts = nullptr;

  bool Allows(fabric::HostId host) const {
    return eligible == nullptr || eligible->empty() || (*eligible)[host.index()] != 0;
  }
  bool AllowsRank(fabric::HostId host, int rank) const {
    return Allows(host) && (role_hosts == nullptr || IsIn(HostsOfRank(*role_hosts, rank), host));
  }
};

struct PlannerOptions {
  // Search steps before the exact search is cut and the result says so. The budget is in steps, not
  // in time, so that the result does not depend on the machine.
  std::int64_t max_steps = 150'000;
  bool explain = true;  // compute reasons in full and relaxations (costs further planning)
};

}  // namespace yardmaster::placement
