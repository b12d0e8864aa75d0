// Three ways to choose the source ports of an exchange: by chance, by the single-bit table of
// earlier work, and by the planner. The results are the links that the flows take with those ports.
// Deterministic in the state of `random`. Thread safety: pure functions, apart from caches of
// `forwarding`. REQUIRES: PredictPath succeeds for every flow.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/fabric/link_path.h"
#include "pkg/repac/forwarding_model.h"
#include "pkg/repac/path_plan.h"

namespace yardmaster::bench {

// The links of each flow of an exchange.
using Ports = std::vector<fabric::LinkPath>;

// Uniform over repac::kFirstSourcePort to 0xFFFF.
std::uint16_t RandomPort(Random& random);

Ports ByEcmp(const std::vector<repac::PlannedFlow>& flows, const repac::ForwardingModel& forwarding,
             Random& random);

// The earlier scheme: a table of what each single bit of the source port does to the index of an
// all-zero key. The wanted index is the least loaded uplink; wanted XOR current must be in the
// table, else another random base port is tried, `tries` in all. It steers the first hop only, and
// where the group is not a power of two the table's offsets are wrong.
Ports BySingleBit(const std::vector<repac::PlannedFlow>& flows,
                  const repac::ForwardingModel& forwarding, int tries, Random& random);

Ports ByPlan(const repac::PathPlan& plan);

}  // namespace yardmaster::bench
