// Small search problems (solver/search_problem.h) at random, and all their placements by trying
// every one. TESTONLY. Thread safety: pure functions. Complexity: places ^ pieces.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/placement/cluster.h"
#include "pkg/placement/objective.h"
#include "pkg/placement/solver/search_problem.h"

namespace yardmaster::placement {

// Up to five pieces of unequal sizes in up to three components, each of which its groups connect;
// up to four segments of unequal room in up to three fabric pods.
SearchProblem RandomSearchProblem(Random& random);
// The same with one or two domains in each segment, and pieces that must share a segment.
SearchProblem RandomDomainProblem(Random& random);

// What a placement costs (`place` by piece); nothing where it breaks a limit.
std::optional<Objective> CostOf(const SearchProblem& problem, const std::vector<int>& place);

// Calls `found` for every placement.
void ForEachPlacement(const SearchProblem& problem,
                      const std::function<void(const std::vector<int>&, const Objective&)>& found);

// The least cost, or nothing if there is no placement.
std::optional<Objective> LeastCost(const SearchProblem& problem);

// Up to three fabric pods of up to three segments, and room for up to `max_room` pieces in each.
struct Shape {
  Cluster cluster;
  std::vector<int> capacity;
};
Shape RandomShape(Random& random, int max_room);

}  // namespace yardmaster::placement
