// Workers of a gang onto the hosts of their segments, or of their domains where there are some.
//
// The objective does not see hosts, so here only ties are settled: host sets never part, units
// (tensor groups) stay together where they fit, tightest host first, hosts with all links up before
// degraded ones, the least degraded of these first, then the lowest id. Where every worker of a
// segment has a host of its own, ranks ascend with hosts (a domain's in a fabric that has domains).
// Workers that may use different hosts are matched with them host set by host set, and units may be
// parted; host sets of one size find hosts whenever there are some, of unequal sizes not always.
// Complexity: O(hosts log hosts + workers log hosts); of a matching O(workers * (hosts + workers) *
// kinds of host sets).
// Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

// By worker; empty if host sets of unequal sizes or classes do not fit. `place_of_worker`: domains
// where the fabric has domains, else segments.
std::vector<fabric::HostId> FillHosts(const Cluster& cluster, const Capacity& capacity,
                                      const GangModel& model,
                                      const std::vector<int>& place_of_worker);

}  // namespace yardmaster::placement
