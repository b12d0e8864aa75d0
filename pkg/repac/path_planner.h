// Plans source ports for all connections of all jobs together, so that flows share as few links as
// possible.
//
// Problem: choose a plane and a source port for every flow; the path of a port follows from the
// switches' hashes. Goals, in this order:
//
//   1. exact paths, if they are given;
//   2. the flows that leave one ToR in one plane use different uplinks while there are enough, and
//      are evenly distributed otherwise;
//   3. the paths of one connection are disjoint;
//   4. the NIC ports (planes) of a host are evenly used;
//   5. later links are evenly used.
//
// No source port is used twice between the same two addresses, in either direction or plane. This
// is FindPaths of HPN (Qian et al., SIGCOMM 2024, section 6.1) for the whole fabric at once, with
// RePaC's exact prediction of every hash.
//
// Method: flows with given paths come first, then the others by size, each planned as
// flow_planner.h says. For flows of equal size with free choice, the first links of a ToR differ by
// at most one flow, which is optimal.
//
// A flow stays unplanned, with a reason, if prediction is impossible, if no disjoint path is left,
// or if the exact path has no port.
//
// Complexity: O(flows * (group + ports walked)). Deterministic; flows of equal bytes are ordered by
// position. Thread safety: that of ForwardingModel.
#pragma once

#include <span>
#include <vector>

#include "pkg/repac/forwarding_model.h"
#include "pkg/repac/path_plan.h"

namespace yardmaster::repac {

// Plans all flows. Replan is for flows that have a plan already.
PathPlan PlanPaths(const std::vector<NicConnection>& connections, const ForwardingModel& forwarding,
                   const PathOptions& options);

// Returns the plan after a change: cables are down in `forwarding` (routing has noticed) or in
// options.avoid (it has not), or are up again. For each flow, in this order:
//
//   1. It returns to its home path if that is complete again.
//   2. It keeps its present path if that is complete, by the same port, or by a new one if the
//      group changed its size.
//   3. It uses its alternate port if that works.
//   4. It is planned again.
//
// Unaffected flows keep their ports. Flows of options.exclude lose theirs. REQUIRES: `old` is a
// plan of `connections`.
PathPlan Replan(PathPlan old, const std::vector<NicConnection>& connections,
                const ForwardingModel& forwarding, const PathOptions& options);
// Like Replan, in place, for flows that are stored elsewhere. It does not compute loads (Account).
// REQUIRES: `flows` has the order of a plan of `connections`.
void Replan(std::span<PlannedFlow* const> flows, const std::vector<NicConnection>& connections,
            const ForwardingModel& forwarding, const PathOptions& options);

}  // namespace yardmaster::repac
