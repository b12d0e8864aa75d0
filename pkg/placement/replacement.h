// Replaces lost hosts of a placed gang without moving other ranks.
//
// Lost ranks that shared a host stay together if one host takes them; otherwise they are divided
// between host sets (solver/gang_model.h). In the order of their lowest rank they get the first of:
//   1. a free backup host of their segment;
//   2. if the backup policy allows it, a free ordinary host of the segment;
//   3. if the backup policy allows it, a host of another segment of the fabric pod.
// On a fabric with domains, 1 and 2 are first tried in the rank's domain. If that has none, tensor
// and context groups that are lost as a whole move together to one domain that takes them. Workers
// that must share a domain or a segment change it together, and only if all of them are lost.
//
// If some rank finds no host, the result is not Placed and names the segments that are short. Each
// step takes the best host for its own ranks; another choice for all of them together may be
// better.
//
// Complexity: O(lost ranks^2 * hosts of a segment), or of a fabric pod if the policy borrows from
// it. A gang of unlike workers copies the cluster for each host that already has one of them.
// Determinism and thread safety: as gang_planner.h.
#pragma once

#include <vector>

#include "pkg/fabric/spec.h"
#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

// `host_of_rank`: the present assignment. `lost`: the ranks whose host is lost; ranks without a
// valid host are treated as lost, too, from the segment of a rank with which they must share one,
// else of a near rank. Ranks that the gang does not have are ignored. The cluster must show the
// present occupation of the hosts, including the gang's own workers. On Placed the returned
// host_of_rank differs from the given one only in the lost ranks. An assignment that is not one
// host per worker gives Never.
GangPlan ReplaceHosts(const Cluster& cluster, const GangRequest& request,
                      const std::vector<fabric::HostId>& host_of_rank, const std::vector<int>& lost,
                      const fabric::BackupPolicy& policy);

}  // namespace yardmaster::placement
