// Lower bounds on the cost of the unplaced rest of a gang in a search (gang_search.h). Each bound
// considers one reason for splits and ignores the others.
//
// Complexity: ComponentBound is linear in the groups left, times the places that one of them needs.
// Deterministic. Thread safety: pure functions and values.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/placement/objective.h"
#include "pkg/placement/solver/search_space.h"

namespace yardmaster::placement {

Objective operator+(Objective a, const Objective& b);

// Return the parts of an objective, by level. Null: splits of data groups over domains are not
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

// The units of the gang (gang_model.h) with several pieces. A place with room for c workers holds
// at most c div z of them whole, where z is the size of the smallest; each of the others splits at
// least its cheapest group.
class TensorUnits {
 public:
  explicit TensorUnits(const SearchProblem& problem);

  // Returns their minimum cost over places of these capacities.
  std::int64_t SplitsIn(const std::vector<int>& capacities) const;

 private:
  int Root(int piece);

  std::vector<int> home_;
  std::int64_t cheapest_ = 0;  // of all tensor groups
  std::int64_t count_ = 0;     // units of several pieces
  int smallest_ = 0;           // of them, in workers
};

// Returns the minimum cost of the groups of components >= `from`, each considered alone in the
// capacity `free` that the places of each level still have. `left`: workers not yet placed, by
// group.
Objective ComponentBound(const SearchSpace& space, int from, const std::vector<int>& left,
                         BySearchLevel<std::vector<int>> free);

}  // namespace yardmaster::placement
