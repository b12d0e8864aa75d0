// Computes lower bounds on the cost of the pieces that a search has not placed yet (gang_search.h).
// Each bound considers one cause of splits and ignores the others.
//
// Complexity: ComponentBound is linear in the unplaced groups, times the number of places that one
// of them needs. Deterministic. Thread safety: pure functions and values.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/placement/objective.h"
#include "pkg/placement/solver/search_space.h"

namespace yardmaster::placement {

Objective operator+(Objective a, const Objective& b);

// Return the parts of an objective by level. SplitsOf returns null for data groups over domains,
// whose splits are not counted.
inline std::int64_t& PlacesOf(Objective& cost, int level) {
  if (level == kDomain) return cost.domains;
  return level == kSegment ? cost.segments : cost.fabric_pods;
}

inline std::int64_t* SplitsOf(Objective& cost, int level, bool tensor) {
  if (level == kDomain) return tensor ? &cost.tensor_split_domains : nullptr;
  if (level == kSegment) return tensor ? &cost.tensor_split_segments : &cost.data_split_segments;
  return tensor ? &cost.tensor_split_fabric_pods : &cost.data_split_fabric_pods;
}
inline void AddSplits(int level, bool tensor, std::int64_t splits, Objective& cost) {
  if (std::int64_t* part = SplitsOf(cost, level, tensor)) *part += splits;
}

// Returns the number of places needed for `need`, widest first. `capacities` descends. A result
// above capacities.size() means that the places do not suffice.
int PlacesFor(std::int64_t need, const std::vector<int>& capacities);

// The units of the gang (gang_model.h) with several pieces. A place with capacity c holds at most c
// div z of them whole, where z is the size of the smallest one. Each of the others splits at least
// the cheapest group.
class TensorUnits {
 public:
  explicit TensorUnits(const SearchProblem& problem);

  // Returns the minimum cost of their splits over places of these capacities.
  std::int64_t SplitsIn(const std::vector<int>& capacities) const;

 private:
  int Root(int piece);

  std::vector<int> home_;
  std::int64_t cheapest_ = 0;  // the cheapest tensor group
  std::int64_t count_ = 0;     // number of units with several pieces
  int smallest_ = 0;           // the smallest of these, in workers
};

// Returns the minimum cost of the groups of components >= `from`, each considered alone. `free`:
// remaining capacity of the places of each level. `left`: workers not placed yet, by group.
Objective ComponentBound(const SearchSpace& space, int from, const std::vector<int>& left,
                         BySearchLevel<std::vector<int>> free);

}  // namespace yardmaster::placement
