#include "pkg/placement/solver/search_bounds.h"

#include <algorithm>
#include <numeric>

namespace yardmaster::placement {

namespace {

int ComponentSize(const SearchSpace& space, std::size_t c) {
  int size = 0;
  for (int i = space.first_piece[c]; i < space.first_piece[c + 1]; ++i) {
    size += space.problem.piece_size[space.order[i]];
  }
  return size;
}

// Equal components of data groups alone: each that finds no segment (pod) with room for all of it
// splits at least its cheapest group once.
void AddWholeBound(const SearchSpace& space, std::size_t from,
                   const BySearchLevel<std::vector<int>>& free, Objective& bound) {
  const int size = ComponentSize(space, from);
  std::int64_t components = 0;
  std::int64_t cheapest = -1;
  for (std::size_t c = from; c + 1 < space.first_piece.size(); ++c) {
    if (ComponentSize(space, c) != size) return;
    ++components;
    for (int g : space.groups_of_component[c]) {
      const SearchGroup& group = space.problem.groups[g];
      if (group.tensor) return;
      if (cheapest < 0 || group.count < cheapest) cheapest = group.count;
    }
  }
  if (cheapest < 0) return;
  auto split = [&](const std::vector<int>& capacities) {
    std::int64_t whole = 0;
    for (int capacity : capacities) whole += capacity / size;
    return (components - whole) * cheapest;
  };
  bound.data_split_segments = std::max(bound.data_split_segments, split(free[kSegment]));
  bound.data_split_fabric_pods = std::max(bound.data_split_fabric_pods, split(free[kPod]));
}

}  // namespace

Objective operator+(Objective a, const Objective& b) {
  a.tensor_split_fabric_pods += b.tensor_split_fabric_pods;
  a.data_split_fabric_pods += b.data_split_fabric_pods;
  a.tensor_split_segments += b.tensor_split_segments;
  a.data_split_segments += b.data_split_segments;
  a.fabric_pods += b.fabric_pods;
  a.segments += b.segments;
  a.domains += b.domains;
  a.tensor_split_domains += b.tensor_split_domains;
  return a;
}

int PlacesFor(std::int64_t need, const std::vector<int>& capacities) {
  int places = 0;
  for (std::size_t i = 0; i < capacities.size() && need > 0; ++i, ++places) need -= capacities[i];
  return need > 0 ? static_cast<int>(capacities.size()) + 1 : places;
}

TensorUnits::TensorUnits(const SearchProblem& problem) : home_(problem.piece_size.size()) {
  std::iota(home_.begin(), home_.end(), 0);
  for (const SearchGroup& group : problem.groups) {
    if (!group.tensor) continue;
    for (int piece : group.pieces) home_[Root(piece)] = Root(group.pieces[0]);
    cheapest_ = cheapest_ == 0 ? group.count : std::min(cheapest_, group.count);
  }
  std::vector<int> size(home_.size(), 0);
  std::vector<int> pieces(home_.size(), 0);
  for (std::size_t p = 0; p < home_.size(); ++p) {
    const int root = Root(static_cast<int>(p));
    size[root] += problem.piece_size[p];
    ++pieces[root];
  }
  for (std::size_t u = 0; u < size.size(); ++u) {
    if (pieces[u] < 2) continue;
    ++count_;
    smallest_ = smallest_ == 0 ? size[u] : std::min(smallest_, size[u]);
  }
}

std::int64_t TensorUnits::SplitsIn(const std::vector<int>& capacities) const {
  if (count_ == 0) return 0;
  std::int64_t whole = 0;
  for (int capacity : capacities) whole += capacity / smallest_;
  return std::max<std::int64_t>(0, count_ - whole) * cheapest_;
}

int TensorUnits::Root(int piece) {
  while (home_[piece] != piece) piece = home_[piece] = home_[home_[piece]];
  return piece;
}

Objective ComponentBound(const SearchSpace& space, int from, const std::vector<int>& left,
                         BySearchLevel<std::vector<int>> free) {
  for (std::vector<int>& rooms : free) std::sort(rooms.rbegin(), rooms.rend());
  Objective bound;
  const auto first = static_cast<std::size_t>(from);
  for (std::size_t c = first; c + 1 < space.first_piece.size(); ++c) {
    for (int g : space.groups_of_component[c]) {
      const SearchGroup& group = space.problem.groups[g];
      for (int level = space.first_level; level < kSearchLevels; ++level) {
        AddSplits(level, group.tensor, (PlacesFor(left[g], free[level]) - 1) * group.count, bound);
      }
    }
  }
  if (first + 1 < space.first_piece.size()) AddWholeBound(space, first, free, bound);
  return bound;
}

}  // namespace yardmaster::placement
