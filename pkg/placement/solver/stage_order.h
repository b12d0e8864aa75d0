// Places pipeline neighbours near each other: equal components that are interchangeable take their
// places in ascending order along the fabric. So stages stand side by side, and each fabric pod and
// segment is entered once.
//
// Only for uniform gangs (gang_model.h) whose units are whole, for which the order changes neither
// the objective nor any limit; other gangs are not changed. Complexity: O(workers log workers).
// Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

void OrderStages(const GangModel& model, std::vector<int>& segment_of_worker);

}  // namespace yardmaster::placement
