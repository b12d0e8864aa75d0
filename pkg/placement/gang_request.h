// One gang to be placed, and the search effort: the input of all planners of this folder. Thread
// safety: values; pointees must live during the call.
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
  // Of these, the hosts that each run of ranks may use. Null: every rank may use all of them.
  const std::vector<RoleHosts>* role_hosts = nullptr;

  bool Allows(fabric::HostId host) const {
    return eligible == nullptr || eligible->empty() || (*eligible)[host.index()] != 0;
  }
  bool AllowsRank(fabric::HostId host, int rank) const {
    return Allows(host) && (role_hosts == nullptr || IsIn(HostsOfRank(*role_hosts, rank), host));
  }
};

struct PlannerOptions {
  // Steps after which the exact search is cut; the result reports it. The budget counts steps, not
  // time, so that the result does not depend on the machine.
  std::int64_t max_steps = 150'000;
  bool explain = true;  // compute all reasons and relaxations, which costs further planning
};

}  // namespace yardmaster::placement
