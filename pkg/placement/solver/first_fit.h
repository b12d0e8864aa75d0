// Finds a placement without a search, of any quality: takes one pod set after another, each in the
// first fabric pod that takes all of it, and one atom after another, each in the first segment with
// room. If stages are limited, segments that already have the stage come first; segments are tried
// in three orders.
//
// With equal atoms, equal pod sets and no limit of stages it finds a placement whenever one exists
// (fit_counter.h decides whether). Otherwise, finding none proves nothing. Deterministic.
// Complexity: O(atoms * segments). Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

// Returns the segment of each worker, or an empty vector. `stages_of_atom` is used if the model
// limits stages; `capacity` counts workers by segment.
std::vector<int> FitFirst(const fabric::Places& places, const GangModel& model,
                          const std::vector<std::vector<int>>& stages_of_atom,
                          const std::vector<int>& capacity);

}  // namespace yardmaster::placement
