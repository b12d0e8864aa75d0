// Places some ranks of a gang without moving any other rank: ranks that are added, and ranks that
// leave a lost segment.
//
// All of these ranks are placed, or none. They are planned as a gang of their own (gang_planner.h)
// with the groups that lie among them. So a data group that had a segment to itself gets one
// segment again if one has room. Three plans are made: among the hosts of the segments of the other
// ranks, of the gang's fabric pods, and of the fabric. Of those that keep every Required limit of
// the whole gang the one with the best objective is returned; among equals the nearest. Moving
// other ranks might give a better plan. Backup hosts are not used.
//
// Fails if the ranks find no room, with reasons and changes that would help; or if every place with
// room breaks a limit, with that limit as the reason. The caller can then place the whole gang
// again. On Placed the returned host_of_rank differs from the given one only in these ranks.
//
// `keeps_limits` decides whether a whole assignment is allowed. Complexity: three plans of the
// ranks. Determinism and thread safety: as gang_planner.h.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/status.h"

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

using KeepsLimits = std::function<absl::Status(const std::vector<fabric::HostId>&)>;

// Places added ranks. `request` is the larger gang; `host_of_rank` has the hosts of its first
// ranks. The cluster must count these as occupied.
GangPlan GrowGang(const Cluster& cluster, const GangRequest& request,
                  const std::vector<fabric::HostId>& host_of_rank, const PlannerOptions& options,
                  const KeepsLimits& keeps_limits);

// Moves the ranks `leaving` (ascending) of the present assignment `host_of_rank`. The hosts that
// they leave must be unavailable or not eligible. The cluster must count all ranks of the gang as
// occupying their hosts. REQUIRES: at least one rank leaves.
GangPlan PlanEvacuation(const Cluster& cluster, const GangRequest& request,
                        const std::vector<fabric::HostId>& host_of_rank,
                        const std::vector<int>& leaving, const PlannerOptions& options,
                        const KeepsLimits& keeps_limits);

}  // namespace yardmaster::placement
