// Pipeline neighbours near each other: equal components that may change places take theirs in
// ascending order along the fabric, so that stage after stage stands side by side and fabric pods
// and segments are entered once.
//
// Only for uniform gangs (gang_model.h) whose units are whole: there the objective and all limits
// stay as they are in any order. Others are left alone. Complexity: O(workers log workers).
// Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

void OrderStages(const GangModel& model, std::vector<int>& segment_of_worker);

}  // namespace yardmaster::placement
