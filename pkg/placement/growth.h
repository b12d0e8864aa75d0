// Gives a placed gang that is to have more workers hosts for the new ranks, without moving a rank.
//
// All new ranks or none. They are planned as a gang of their own (gang_planner.h), first among the
// hosts of the segments that the gang is in, then of its fabric pods, then of the fabric; the first
// of these places whose result keeps every Required limit of the grown gang is taken. It is not
// compared with others, so it may have more segments than moving ranks would give. Backup hosts are
// not used.
//
// Fails, with reasons, where the new ranks find no room, or where every place breaks a limit: the
// gang can then be placed anew as a whole. Complexity: three plans of the new ranks. Determinism and
// thread safety: as gang_planner.h.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/status.h"

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

// `request` is the gang as it is to be; `host_of_rank` has fewer ranks than it, with the hosts of the
// first ones. The cluster must show those as occupied. `keeps_limits` says whether a whole assignment
// is allowed. On Placed the returned host_of_rank begins with the given one.
GangPlan GrowGang(
    const Cluster& cluster, const GangRequest& request,
    const std::vector<fabric::HostId>& host_of_rank, const PlannerOptions& options,
    const std::function<absl::Status(const std::vector<fabric::HostId>&)>& keeps_limits);

}  // namespace yardmaster::placement
