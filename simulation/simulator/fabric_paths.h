// A fabric's network as the planner's links and candidate paths: link i is fabric::LinkId(i).
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/crux/problem.h"
#include "pkg/fabric/network.h"
#include "pkg/repac/path_plan.h"

namespace yardmaster::sim {

using repac::Nic;

std::vector<crux::Link> LinksOf(const fabric::Network& network);

// The paths from one NIC to another, port by port: all paths of a port in the order of the
// switches' groups or, where there are more than limit / ports (at least 1), that many different
// ones drawn as a hash would take them, the same in every call. Empty on one host, or where nothing
// connects the two.
crux::PathList PathsBetween(const fabric::Network& network, const Nic& from, const Nic& to,
                            int limit);

}  // namespace yardmaster::sim
