#include "pkg/placement/testing/search_problems.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {

namespace {

int Below(Random& random, int bound) {
  return static_cast<int>(random.Below(static_cast<std::uint64_t>(bound)));
}

// Pieces first .. last - 1 are one component.
void AddComponent(Random& random, int first, int last, SearchProblem& problem) {
  const int component = first == 0 ? 0 : problem.component.back() + 1;
  const bool one_set = Below(random, 2) == 0;
  const int size = 1 + Below(random, 2);
  SearchGroup all;
  for (int piece = first; piece < last; ++piece) {
    problem.piece_size.push_back(Below(random, 3) == 0 ? 1 + Below(random, 3) : size);
    problem.component.push_back(component);
    problem.pod_set.push_back(one_set ? first : piece);
    const int stage = 10 * component;  // components share none
    problem.stages.push_back({stage + Below(random, 3)});
    if (Below(random, 3) == 0) problem.stages.back() = {stage, stage + 1 + Below(random, 2)};
    all.pieces.push_back(piece);
  }
  if (all.pieces.size() < 2) return;
  all.count = 1 + Below(random, 3);
  all.tensor = Below(random, 3) == 0;
  problem.groups.push_back(all);
  if (all.pieces.size() < 3) return;
  SearchGroup some = all;
  some.pieces.erase(some.pieces.begin() + Below(random, static_cast<int>(some.pieces.size())));
  some.count = 1 + Below(random, 2);
  some.tensor = Below(random, 2) == 0;
  problem.groups.push_back(some);
}

int Distinct(const std::vector<int>& pieces, const std::vector<int>& place) {
  std::set<int> seen;
  for (int piece : pieces) seen.insert(place[static_cast<std::size_t>(piece)]);
  return static_cast<int>(seen.size());
}

std::vector<int> SegmentsOf(const SearchProblem& problem, const std::vector<int>& place) {
  if (!problem.has_domains()) return place;
  std::vector<int> segment;
  for (int domain : place) {
    segment.push_back(problem.segment_of_domain[static_cast<std::size_t>(domain)]);
  }
  return segment;
}

std::vector<int> PodsOf(const SearchProblem& problem, const std::vector<int>& segment) {
  std::vector<int> pod;
  for (int s : segment) pod.push_back(problem.pod_of_segment[static_cast<std::size_t>(s)]);
  return pod;
}

bool SetsAreTogether(const std::vector<int>& set, const std::vector<int>& place) {
  for (std::size_t p = 0; p < set.size(); ++p) {
    for (std::size_t q = 0; q < p; ++q) {
      if (set[q] == set[p] && place[q] != place[p]) return false;
    }
  }
  return true;
}

bool LimitsHold(const SearchProblem& problem, const std::vector<int>& place) {
  const std::vector<int> segment = SegmentsOf(problem, place);
  std::vector<int> room = problem.capacity;
  std::vector<std::set<int>> stages(problem.pod_of_segment.size());
  for (std::size_t p = 0; p < place.size(); ++p) {
    int& left = room[static_cast<std::size_t>(place[p])];
    left -= problem.piece_size[p];
    if (left < 0) return false;
    std::set<int>& held = stages[static_cast<std::size_t>(segment[p])];
    held.insert(problem.stages[p].begin(), problem.stages[p].end());
    if (problem.max_stages_per_segment > 0 &&
        static_cast<int>(held.size()) > problem.max_stages_per_segment) {
      return false;
    }
  }
  return SetsAreTogether(problem.segment_set, segment) &&
         SetsAreTogether(problem.pod_set, PodsOf(problem, segment));
}

}  // namespace

SearchProblem RandomSearchProblem(Random& random) {
  SearchProblem problem;
  const int pieces = 1 + Below(random, 5);
  const int same = 1 + Below(random, 3);  // components of equal numbers of pieces are frequent
  for (int first = 0; first < pieces;) {
    const int last = std::min(pieces, first + (Below(random, 3) > 0 ? same : 1 + Below(random, 3)));
    AddComponent(random, first, last, problem);
    first = last;
  }
  problem.max_stages_per_segment = Below(random, 4) == 0 ? 1 + Below(random, 2) : 0;
  int pod = 0;
  for (int segments = 1 + Below(random, 4); segments > 0; --segments) {
    problem.capacity.push_back(Below(random, 7));
    problem.pod_of_segment.push_back(pod);
    if (pod < 2 && Below(random, 2) == 0) ++pod;
  }
  return problem;
}

SearchProblem RandomDomainProblem(Random& random) {
  SearchProblem problem = RandomSearchProblem(random);
  problem.capacity.clear();
  for (std::size_t s = 0; s < problem.pod_of_segment.size(); ++s) {
    const int alike = Below(random, 5);
    for (int domains = 1 + Below(random, 2); domains > 0; --domains) {
      problem.capacity.push_back(Below(random, 2) == 0 ? alike : Below(random, 5));
      problem.segment_of_domain.push_back(static_cast<int>(s));
    }
  }
  // Sets lie in a component and a pod set.
  for (std::size_t p = 0; p < problem.piece_size.size(); ++p) {
    const bool joins =
        p > 0 && problem.pod_set[p] == problem.pod_set[p - 1] && Below(random, 2) == 0;
    problem.segment_set.push_back(joins ? problem.segment_set.back() : static_cast<int>(p));
  }
  return problem;
}

std::optional<Objective> CostOf(const SearchProblem& problem, const std::vector<int>& place) {
  if (!LimitsHold(problem, place)) return std::nullopt;
  const std::vector<int> segment = SegmentsOf(problem, place);
  const std::vector<int> pod = PodsOf(problem, segment);
  std::vector<int> all(place.size());
  std::iota(all.begin(), all.end(), 0);
  Objective cost;
  for (const SearchGroup& group : problem.groups) {
    (group.tensor ? cost.tensor_split_segments : cost.data_split_segments) +=
        (Distinct(group.pieces, segment) - 1) * group.count;
    (group.tensor ? cost.tensor_split_fabric_pods : cost.data_split_fabric_pods) +=
        (Distinct(group.pieces, pod) - 1) * group.count;
    if (problem.has_domains() && group.tensor) {
      cost.tensor_split_domains += (Distinct(group.pieces, place) - 1) * group.count;
    }
  }
  cost.segments = Distinct(all, segment);
  cost.fabric_pods = Distinct(all, pod);
  cost.domains = problem.has_domains() ? Distinct(all, place) : 0;
  return cost;
}

void ForEachPlacement(const SearchProblem& problem,
                      const std::function<void(const std::vector<int>&, const Objective&)>& found) {
  std::vector<int> place(problem.piece_size.size(), 0);
  for (;;) {
    if (const auto cost = CostOf(problem, place)) found(place, *cost);
    std::size_t p = 0;
    while (p < place.size() && ++place[p] == static_cast<int>(problem.capacity.size())) {
      place[p++] = 0;
    }
    if (p == place.size()) return;
  }
}

std::optional<Objective> LeastCost(const SearchProblem& problem) {
  std::optional<Objective> least;
  ForEachPlacement(problem, [&](const std::vector<int>&, const Objective& cost) {
    if (!least || cost < *least) least = cost;
  });
  return least;
}

Shape RandomShape(Random& random, int max_room) {
  std::vector<std::vector<int>> hosts(1 + random.Below(3));
  for (auto& pod : hosts) pod.assign(1 + random.Below(3), 1);
  Shape shape{MakeCluster(hosts), {}};
  for (int s = 0; s < shape.cluster.places->num_segments(); ++s) {
    shape.capacity.push_back(Below(random, max_room + 1));
  }
  return shape;
}

}  // namespace yardmaster::placement
