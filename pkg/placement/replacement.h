// Replaces failed hosts of a placed gang without moving other ranks.
//
// Lost ranks that shared a host stay together where one host takes them, else are parted between
// host sets (solver/gang_model.h). They get, in the order of the lowest rank: a free backup host of
// their segment; else, as the backup policy says, a free ordinary host of the segment, then of
// another segment of the fabric pod. On a fabric with domains both are looked for in the rank's
// domain first; where it has none, tensor and context groups that are lost as a whole go together
// to one domain that takes them. Workers that must share a domain or a segment change it together,
// and only if all of them are lost. If some rank finds no host the result is not Placed and names
// the segments that are short. Each step takes the best host for its ranks alone: another choice
// for all of them together may be better.
//
// Complexity: O(lost ranks^2 * hosts of a segment), or of a fabric pod where the policy borrows
// from it; a gang of unlike workers copies the cluster for each host that already has one of them.
// Determinism and thread safety: as gang_planner.h.
#pragma once

#include <vector>

#include "pkg/fabric/spec.h"
#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

// `host_of_rank` is the present assignment; `lost` the ranks whose host is gone. Ranks without a
// valid host are treated as lost, too, from the segment of a rank with which they must share one,
// else of a near rank. The cluster must already show the hosts' present occupation (the gang's own
// workers included). On Placed the returned host_of_rank differs from the given one in the lost
// ranks only. Ranks that the gang does not have are ignored; an assignment that is not one host per
// worker gives Never.
GangPlan ReplaceHosts(const Cluster& cluster, const GangRequest& request,
                      const std::vector<fabric::HostId>& host_of_rank, const std::vector<int>& lost,
                      const fabric::BackupPolicy& policy);

}  // namespace yardmaster::placement
