// Replaces failed hosts of a placed gang, rank by rank, without moving other ranks.
//
// For each lost rank, in rank order: a free backup host of its segment; else, as the backup policy
// says, a free ordinary host of the segment, then of the fabric pod; else the slot waits and the
// result says so (all or nothing over the ranks of one call). Determinism and thread safety: as
// gang_planner.h.
#pragma once

#include <vector>

#include "pkg/fabric/spec.h"
#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

// `host_of_rank` is the present assignment; `lost` the ranks whose host is gone. The cluster must
// already show the hosts' present occupation (the gang's own workers included). On Placed the
// returned host_of_rank differs from the given one in the lost ranks only. Ranks that the gang does
// not have are ignored; an assignment that is not one host per worker gives Never.
GangPlan ReplaceHosts(const Cluster& cluster, const GangRequest& request,
                      const std::vector<fabric::HostId>& host_of_rank, const std::vector<int>& lost,
                      const fabric::BackupPolicy& policy);

}  // namespace yardmaster::placement
