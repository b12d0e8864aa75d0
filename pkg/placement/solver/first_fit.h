// Finds any placement without a search: places one pod set after another, each in the first fabric
// pod that takes all of it, and its atoms one after another, each in the first segment with enough
// capacity. If stages are limited, segments that already have the stage come first. Segments are
// tried in three orders.
//
// With equal atoms, equal pod sets and no limit of stages it finds a placement whenever one exists
// (fit_counter.h decides whether). Otherwise a placement may exist if none is found.
//
// Complexity: O(atoms * segments). Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

// Returns the segment of each worker; empty: none found. `stages_of_atom`: used if the model limits
// stages. `capacity`: workers by segment.
std::vector<int> FitFirst(const fabric::Places& places, const GangModel& model,
                          const std::vector<std::vector<int>>& stages_of_atom,
                          const std::vector<int>& capacity);

}  // namespace yardmaster::placement
