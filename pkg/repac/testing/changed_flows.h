// Compares two path plans.
//
// Thread safety: pure function.
#pragma once

#include <cstddef>
#include <vector>

#include "pkg/repac/path_plan.h"

namespace yardmaster::repac {

// Returns the positions of flows that differ in source port (0: not planned) or in the NIC port of
// the source. REQUIRES: plans of the same connections.
inline std::vector<int> ChangedFlows(const PathPlan& before, const PathPlan& after) {
  std::vector<int> changed;
  for (std::size_t i = 0; i < after.flows.size(); ++i) {
    const PlannedFlow& a = before.flows[i];
    const PlannedFlow& b = after.flows[i];
    if (a.source_port != b.source_port || !(a.src == b.src)) changed.push_back(static_cast<int>(i));
  }
  return changed;
}

}  // namespace yardmaster::repac
