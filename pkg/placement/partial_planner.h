// Gives some ranks of a gang hosts, without moving another rank: ranks that are added, and ranks
// that leave a lost segment.
//
// All of these ranks or none. They are planned as a gang of their own (gang_planner.h) with the
// groups that lie among them, so that a data group that had a segment to itself gets one segment
// again where one has the room: first among the hosts of the segments that other ranks are in, then
// of the gang's fabric pods, then of the fabric. Of the plans that keep every Required limit of the
// whole gang the one with the best objective is taken, of equal ones the nearest; moving other
// ranks might give a better one. Backup hosts are not used.
//
// Fails where the ranks find no room, with reasons and changes that would help, or where every
// place with room breaks a limit, with that limit as the reason: the gang can then be placed again
// as a whole. On Placed the returned host_of_rank differs from the given one in these ranks only.
//
// `keeps_limits` says whether a whole assignment is allowed. Complexity: three plans of the ranks.
// Determinism and thread safety: as gang_planner.h.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/status.h"

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

using KeepsLimits = std::function<absl::Status(const std::vector<fabric::HostId>&)>;

// `request` is the gang as it is to be; `host_of_rank` has fewer ranks than it, with the hosts of
// the first ones. The cluster must show those as occupied.
GangPlan GrowGang(const Cluster& cluster, const GangRequest& request,
                  const std::vector<fabric::HostId>& host_of_rank, const PlannerOptions& options,
                  const KeepsLimits& keeps_limits);

// `host_of_rank` is the present assignment, `leaving` ranks of it, ascending; the hosts that they
// leave must be unavailable or not eligible. The cluster must count all ranks of the gang as
// occupying their hosts. REQUIRES: at least one rank leaves.
GangPlan PlanEvacuation(const Cluster& cluster, const GangRequest& request,
                        const std::vector<fabric::HostId>& host_of_rank,
                        const std::vector<int>& leaving, const PlannerOptions& options,
                        const KeepsLimits& keeps_limits);

}  // namespace yardmaster::placement
