// Exact search for the gangs that the closed forms of whole_choice.h and uniform_solver.h do not
// cover: pieces of any size, joined by weighted groups, into places of any capacity, at the least
// Objective. Places are segments; on a fabric with domains they are domains, a level more.
//
// Branch and bound, depth first over the pieces, cheapest place first. Symmetric choices are
// tried once, by keeping to the lexicographically least of each orbit: interchangeable pieces take
// places in ascending order, equal components ascend lexicographically, and of equal untouched
// domains, segments and fabric pods only the first is tried. A branch is cut when its cost so far
// plus what the rest must cost at least (each group, alone, in what is still free; the places of
// each level by what they take) is not better than the best found.
//
// The problem contains hypergraph partitioning, so the worst case is exponential; after `max_steps`
// the best so far is returned with exact = false. Its memory is O(pieces * places) and no stack
// grows with the gang. Deterministic. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pkg/placement/objective.h"
#include "pkg/placement/solver/search_problem.h"

namespace yardmaster::placement {

struct SearchOptions {
  std::int64_t max_steps = 150'000;
  // Only better solutions than this are looked for.
  std::optional<Objective> incumbent;
  bool any = false;  // stop at the first solution, which is exact only where it meets the bound
};

struct SearchResult {
  std::vector<int> place;  // by piece; empty: nothing (better than the incumbent) found
  Objective objective;
  bool exact = true;  // false: cut
  std::int64_t steps = 0;
  Objective bound;  // of every solution
};

SearchResult SearchPlaces(const SearchProblem& problem, const SearchOptions& options);

}  // namespace yardmaster::placement
