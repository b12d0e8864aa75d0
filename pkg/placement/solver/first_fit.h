// A placement without a search, of any quality: pod set by pod set, each in the first fabric pod
// that takes all of it, atom by atom, each in the first segment with room. Where stages are
// limited, first where they are already; segments are tried in three orders.
//
// With equal atoms, equal pod sets and no limit of stages it finds a placement whenever there is
// one (fit_counter.h counts whether); otherwise finding none proves nothing. Deterministic.
// Complexity: O(atoms * segments). Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

// Segment by worker, or empty. `stages_of_atom` is looked at where the model limits stages;
// `capacity` counts workers by segment.
std::vector<int> FitFirst(const fabric::Places& places, const GangModel& model,
                          const std::vector<std::vector<int>>& stages_of_atom,
                          const std::vector<int>& capacity);

}  // namespace yardmaster::placement
