// Segments for a uniform gang (gang_model.h): P components of n interchangeable pieces,
// into segments that take c pieces each.
//
// What counts, in order: components split over fabric pods, components split over segments, fabric
// pods, segments. If all fit whole, whole_choice.h has the optimum. Otherwise each fabric pod gets
// a table: for x components the fewest splits (min_splits.h over the remainders) and then the
// fewest segments (the fullest ones: exchanging a fuller one in never hurts), and a dynamic program
// over the pods adds the tables up. A single component that must be split is again a whole choice,
// of pieces. Several components that must cross fabric pods are chained heuristically, with a
// bound; with a limit of components in a segment that is left to others.
//
// Complexity: O(segments log segments) + pods * P * (components a pod holds), plus the bounded
// searches inside min_splits.h. Deterministic. Thread safety: pure function.
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
  int pieces = 1;             // n, of a component
  int components = 1;         // P
  bool may_cross_pods = false;
  int max_components = 0;  // that may take part in one segment; 0: any number
};

struct UniformPlan {
  bool found = false;
  bool exact = true;    // the bounds are attained, or it is proved that no plan exists
  bool scored = false;  // ties between segments are settled, too
  // No plan has fewer, in this order.
  std::int64_t pod_splits = 0;
  std::int64_t segment_splits = 0;
  std::int64_t pods = 0;
  std::int64_t segments = 0;
  std::vector<std::vector<SegmentCount>> parts;  // pieces, by component
};

UniformPlan SolveUniform(const UniformProblem& problem, const std::vector<SegmentScore>& scores);

}  // namespace yardmaster::placement
