// Chooses segments for a uniform gang (gang_model.h): P components of n interchangeable pieces,
// into segments with capacity for c pieces each.
//
// Objective, in this order: components split over fabric pods, components split over segments,
// fabric pods, segments.
//
//   - If all components fit whole, whole_choice.h has the optimum.
//   - Otherwise each fabric pod gets a table: for x components the fewest splits (min_splits.h over
//     the remainders), then the fewest segments (the fullest ones first, which is never worse). A
//     dynamic program over the pods adds the tables.
//   - A single component that must be split is a whole choice of pieces.
//   - Several components that must cross fabric pods are chained heuristically, with a bound. If
//     the components per segment are limited, they are split as if all segments were in one pod,
//     and the result is not proved.
//
// Complexity: O(segments log segments) + pods * P * (components a pod holds), plus the bounded
// searches in min_splits.h. Deterministic. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/whole_choice.h"

namespace yardmaster::placement {

struct UniformProblem {
  const fabric::Places* places = nullptr;
  std::vector<int> capacity;  // pieces, by segment
  int pieces = 1;             // n: pieces of a component
  int components = 1;         // P
  bool may_cross_pods = false;
  int max_components = 0;  // maximum number in one segment; 0: any number
};

struct UniformPlan {
  bool found = false;
  bool exact = true;    // the bounds are reached, or it is proved that no plan exists
  bool scored = false;  // ties between segments are broken, too
  // Lower bounds of every plan, in this order.
  std::int64_t pod_splits = 0;
  std::int64_t segment_splits = 0;
  std::int64_t pods = 0;
  std::int64_t segments = 0;
  std::vector<std::vector<SegmentCount>> parts;  // pieces, by component
};

UniformPlan SolveUniform(const UniformProblem& problem, const std::vector<SegmentScore>& scores);

}  // namespace yardmaster::placement
