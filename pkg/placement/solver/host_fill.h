// Assigns the workers of a gang to hosts of their segments, or of their domains if the fabric has
// some.
//
// The objective does not depend on hosts, so the rules only decide ties:
//
//   - Host sets are never divided. Units (tensor groups) stay together if they fit.
//   - The tightest host comes first; then hosts with all links up, then the least degraded ones;
//     then the lowest id.
//   - If every worker of a segment (or domain) has its own host, ranks ascend with hosts.
//   - If workers may use different hosts, host sets are matched with hosts one after another, and
//     units may be divided. Host sets of equal size find hosts whenever a matching exists; with
//     unequal sizes a matching may be missed.
//
// Complexity: O(hosts log hosts + workers log hosts); a matching is O(workers * (hosts + workers) *
// kinds of host sets). Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

// Returns the host of each worker; empty if host sets of unequal sizes or classes do not fit.
// `place_of_worker`: domains if the fabric has domains, else segments.
std::vector<fabric::HostId> FillHosts(const Cluster& cluster, const Capacity& capacity,
                                      const GangModel& model,
                                      const std::vector<int>& place_of_worker);

}  // namespace yardmaster::placement
