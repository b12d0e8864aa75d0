// The objective of workers on segments, by the definitions (outcome.h). Complexity: O(sum of group
// sizes). Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/outcome.h"
#include "pkg/workload/job.h"

namespace yardmaster::placement {

Objective EvaluateSegments(const fabric::Places& places, const workload::WorkerGroups& groups,
                           const std::vector<int>& segment_of_worker);

}  // namespace yardmaster::placement
