// Lower bounds on the cost of the rest of a gang in a search (gang_search.h): each bound
// looks at one reason why something must be split and forgets the others.
//
// Complexity: ComponentBound is linear in the groups left, times the places one of them needs.
// Deterministic. Thread safety: pure functions and values.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/placement/objective.h"
#include "pkg/placement/solver/search_space.h"

namespace yardmaster::placement {

Objective operator+(Objective a, const Objective& b);

// The parts of an objective, by level. Null: that data groups lie in several domains is not
// counted.
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

// The number of places needed for `need`, widest first; `capacities` descends. A number above
// capacities.size() means that they take less than `need`.
int PlacesFor(std::int64_t need, const std::vector<int>& capacities);

// The gang's units (gang_model.h) that have several pieces: a place with room for c workers holds
// at most c div z of them whole, z being the size of the smallest, and each of the others splits at
// least its cheapest group.
class TensorUnits {
 public:
  explicit TensorUnits(const SearchProblem& problem);

  // What they cost at least over places of these capacities.
  std::int64_t SplitsIn(const std::vector<int>& capacities) const;

 private:
  int Root(int piece);

  std::vector<int> home_;
  std::int64_t cheapest_ = 0;  // of all tensor groups
  std::int64_t count_ = 0;     // units of several pieces
  int smallest_ = 0;           // of them, in workers
};

// What the groups of components >= `from` cost at least, each alone in what the places of each
// level still take, `free`. `left`: workers not yet placed, by group.
Objective ComponentBound(const SearchSpace& space, int from, const std::vector<int>& left,
                         BySearchLevel<std::vector<int>> free);

}  // namespace yardmaster::placement
