// Searches for an optimal placement of the gangs that the closed forms of whole_choice.h and
// uniform_solver.h do not cover: pieces of any size, joined by weighted groups, are put into places
// of any capacity, with minimal Objective. Places are segments; on a fabric with domains they are
// domains.
//
//   - The search is a depth-first branch and bound over the pieces, cheapest place first.
//   - Symmetric choices are tried once, by keeping to the lexicographically least of each orbit:
//     interchangeable pieces take places in ascending order, equal components ascend
//     lexicographically, and of equal untouched domains, segments and fabric pods only the first is
//     tried.
//   - A branch is cut if its cost so far plus a lower bound of the rest is not better than the best
//     result. The bound considers each group alone in the remaining capacity, and the places of
//     each level by the workers that they take.
//
// Complexity: the problem contains hypergraph partitioning, so the worst case is exponential. After
// `max_steps` the best result so far is returned with exact = false. Memory: O(pieces * places);
// the stack does not grow with the gang. Deterministic. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pkg/placement/objective.h"
#include "pkg/placement/solver/search_problem.h"

namespace yardmaster::placement {

struct SearchOptions {
  std::int64_t max_steps = 150'000;
  // If set, only better solutions are searched.
  std::optional<Objective> incumbent;
  bool any = false;  // stop at the first solution; it is exact only if it reaches the bound
};

struct SearchResult {
  std::vector<int> place;  // by piece; empty: nothing found (that beats the incumbent)
  Objective objective;
  bool exact = true;  // false: the search was cut
  std::int64_t steps = 0;
  Objective bound;  // no solution is better
};

SearchResult SearchPlaces(const SearchProblem& problem, const SearchOptions& options);

}  // namespace yardmaster::placement
