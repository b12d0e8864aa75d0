// Defines the problem of the general search: pieces of any size, joined by weighted groups, are put
// into places of any capacity. Places are segments, or domains if the fabric has some.
// piece_problem.h builds the problem from a gang; gang_search.h solves it.
//
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
  std::vector<int> capacity;        // workers, by place
  std::vector<int> pod_of_segment;  // segments of a pod are consecutive
  bool places_alike = true;         // equal capacity means interchangeable
  // Set if places are domains, else empty.
  std::vector<int> segment_of_domain;
  std::vector<int> segment_set;  // by piece: equal numbers share a segment
  // Set if workers may use different hosts, else empty: the number of workers of every class by
  // piece, and the capacity of each place for them.
  std::vector<ClassCounts> piece_classes;
  std::vector<std::vector<ClassCapacity>> class_capacities;

  bool has_domains() const { return !segment_of_domain.empty(); }
};

}  // namespace yardmaster::placement
