// Source ports for all connections of all jobs together, so that flows do not meet on links.
//
// Problem: choose for every flow a plane and a source port; a port's path follows from the
// switches' hashes. Wanted, in this order: exact paths where they are given; the flows that leave
// one ToR in one plane on different uplinks while there are enough, evenly loaded otherwise; paths
// of one connection disjoint; the NIC ports (planes) of a host evenly used; links further on evenly
// used. No source port twice between the same two addresses, whichever direction or plane. This is
// HPN's FindPaths (Qian et al., SIGCOMM 2024, section 6.1) for the whole fabric at once, with
// RePaC's exact prediction of every hash.
//
// Method: flows with given paths first, then by size, each as flow_planner.h says. For flows of
// equal size and free choice the first links of a ToR differ by at most one flow, which is optimal.
// Complexity: O(flows x (group + ports walked)). A flow
// stays unplanned, with the reason, where prediction is impossible, where no disjoint path is left,
// and where the exact path asked for has no port. Determinism: complete; flows with equal bytes go
// by position.
#pragma once

#include <span>
#include <vector>

#include "pkg/repac/forwarding_model.h"
#include "pkg/repac/path_plan.h"

namespace yardmaster::repac {

// A plan from nothing; Replan is for what has a plan already.
PathPlan PlanPaths(const std::vector<NicConnection>& connections, const ForwardingModel& forwarding,
                   const PathOptions& options);

// The plan after something changed: cables down in `forwarding` (routing has noticed) or in
// options.avoid (it has not), or up again. A flow returns to its home path if that is whole again,
// else keeps its present path if that is whole (by the same port, or by a new one if the group
// changed its size), else takes its alternate port if that works, else is planned again. Flows that
// nothing happened to keep their ports. Flows of options.exclude lose theirs.
// REQUIRES: `old` is a plan of `connections`.
PathPlan Replan(PathPlan old, const std::vector<NicConnection>& connections,
                const ForwardingModel& forwarding, const PathOptions& options);
// The same in place, for flows that are kept elsewhere; it does not account for them (Account).
// REQUIRES: `flows` is the order of a plan of `connections`.
void Replan(std::span<PlannedFlow* const> flows, const std::vector<NicConnection>& connections,
            const ForwardingModel& forwarding, const PathOptions& options);

}  // namespace yardmaster::repac
