// The problem that the general search solves: pieces of any size, joined by weighted groups, into
// segments of any capacity. Made of a gang by piece_problem.h, solved by gang_search.h.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/placement/solver/class_capacity.h"

namespace yardmaster::placement {

struct SearchGroup {
  std::vector<int> pieces;  // ascending, at least two
  std::int64_t count = 1;
  bool tensor = false;
};

struct SearchProblem {
  std::vector<int> piece_size;           // workers
  std::vector<int> component;            // by piece
  std::vector<int> pod_set;              // by piece: equal numbers share a fabric pod
  std::vector<std::vector<int>> stages;  // by piece; used when max_stages_per_segment > 0
  std::vector<SearchGroup> groups;
  int max_stages_per_segment = 0;
  std::vector<int> capacity;        // workers, by segment
  std::vector<int> pod_of_segment;  // segments of a pod are consecutive
  bool segments_alike = true;       // equal capacity means interchangeable
  // Where workers may use different hosts: workers of every class by piece, and what each
  // segment takes of them. Empty: they may not.
  std::vector<ClassCounts> piece_classes;
  std::vector<std::vector<ClassCapacity>> class_capacities;
};

}  // namespace yardmaster::placement
