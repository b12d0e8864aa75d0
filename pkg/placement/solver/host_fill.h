// Assigns the workers of a gang to hosts of their segments, or of their domains if the fabric has
// some.
//
// The objective does not depend on hosts, so only ties are decided here: host sets are never
// divided; units (tensor groups) stay together if they fit; tightest host first; hosts with all
// links up before degraded ones, the least degraded of these first; then the lowest id. If every
// worker of a segment (or domain) has its own host, ranks ascend with hosts. If workers may use
// different hosts, they are matched with hosts one host set after another, and units may be
// divided. Host sets of equal size then find hosts whenever a matching exists; with unequal sizes
// one may be missed.
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
