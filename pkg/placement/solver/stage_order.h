// Places pipeline neighbours near each other: interchangeable components take their places in
// ascending order along the fabric. So successive stages are adjacent, and each fabric pod and
// segment is entered once.
//
// Only uniform gangs (gang_model.h) with whole units are changed; for these the order changes
// neither the objective nor any limit.
//
// Complexity: O(workers log workers). Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

void OrderStages(const GangModel& model, std::vector<int>& segment_of_worker);

}  // namespace yardmaster::placement
