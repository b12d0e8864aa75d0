// The problem that the general search solves: pieces of any size, joined by weighted groups, into
// places of any capacity. Places are segments, or the domains of a fabric that has some. Made of a
// gang by piece_problem.h, solved by gang_search.h. Thread safety: values.
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
  // Where places are domains, else empty.
  std::vector<int> segment_of_domain;
  std::vector<int> segment_set;  // by piece: equal numbers share a segment
  // Where workers may use different hosts: workers of every class by piece, and what each
  // place takes of them. Empty: they may not.
  std::vector<ClassCounts> piece_classes;
  std::vector<std::vector<ClassCapacity>> class_capacities;

  bool has_domains() const { return !segment_of_domain.empty(); }
};

}  // namespace yardmaster::placement
