// Places a gang whose pod sets run through all of its components, for example pipelines that are
// Required within a fabric pod while data groups may cross fabric pods.
//
// With P components and pod sets of k atoms of each component, x pod sets in one fabric pod are a
// uniform gang of P components of x k atoms in that pod (uniform_solver.h). So the maximum number
// of pod sets of each fabric pod is computed separately, and the gang fits if the sum is large
// enough. The objective is ignored.
//
// Complexity: fabric pods * pod sets uniform problems. Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"
#include "pkg/placement/solver/segment_plan.h"

namespace yardmaster::placement {

// `capacity`: workers by segment. `max_components`: maximum number of components in one segment; 0:
// any number. A plan that is found is not exact. Other kinds of pod sets give a plan that is
// neither found nor exact. Objective and bound are not set.
SegmentPlan SplitPodSets(const fabric::Places& places, const GangModel& model,
                         const std::vector<int>& capacity, int max_components,
                         const std::vector<SegmentScore>& scores);

}  // namespace yardmaster::placement
