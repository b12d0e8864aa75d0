// Exact search for domains: as gang_search.h, with a level more. Each piece takes a domain, and
// with it a segment and a fabric pod, at the least Objective.
//
// Branch and bound, depth first over the pieces, cheapest domain first. Interchangeable pieces take
// domains in ascending order, and of equal untouched domains, segments and fabric pods only the
// first is tried. A branch is cut when its cost plus what each group, alone, must still cost in
// what is free is not better than the best found. After `max_steps` the best so far is returned
// with exact = false. For small gangs: every step costs time that is linear in groups and domains.
// Deterministic. Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/placement/solver/gang_search.h"
#include "pkg/placement/solver/search_problem.h"

namespace yardmaster::placement {

struct DomainProblem {
  SearchProblem base;            // its capacities of segments are not used
  std::vector<int> segment_set;  // by piece: equal numbers share a segment
  std::vector<int> capacity;     // workers, by domain
  std::vector<int> segment_of;   // by domain; domains of a segment are consecutive
  // By domain; empty unless workers may use different hosts.
  std::vector<std::vector<ClassCapacity>> class_capacities;
};

// SearchResult::segment holds domains.
SearchResult SearchDomains(const DomainProblem& problem, const SearchOptions& options);

}  // namespace yardmaster::placement
