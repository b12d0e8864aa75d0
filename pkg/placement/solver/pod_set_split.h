// Places a gang whose pod sets run through all of its components, e.g. pipelines Required within
// a fabric pod while data groups may cross them.
//
// With P components and pod sets of k atoms of each, x pod sets in one fabric pod are a uniform
// gang of P components of x k atoms in that pod (uniform_solver.h). So the most pod sets that each
// fabric pod takes are found one by one, and the gang fits when they add up. The objective is not
// looked at. Complexity: fabric pods * pod sets uniform problems. Deterministic. Thread safety:
// pure function.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"
#include "pkg/placement/solver/segment_plan.h"

namespace yardmaster::placement {

// `capacity` counts workers by segment; at most `max_components` components may take part in one,
// 0: any number. Neither found nor exact where the pod sets are of another kind; never exact where
// found. The objective and the bound are not set.
SegmentPlan SplitPodSets(const fabric::Places& places, const GangModel& model,
                         const std::vector<int>& capacity, int max_components,
                         const std::vector<SegmentScore>& scores);

}  // namespace yardmaster::placement
