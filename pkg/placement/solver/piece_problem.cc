#include "pkg/placement/solver/piece_problem.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace yardmaster::placement {

namespace {

using workload::WorkerGroup;

// Pod sets as unions of pieces, so that a piece larger than a set joins them.
std::vector<int> PodSetsOf(const GangModel& model, const Partition& pieces) {
  std::vector<int> set(pieces.size.size());
  std::iota(set.begin(), set.end(), 0);
  std::vector<int> first(model.pod_sets.size.size(), -1);
  auto root = [&](int p) {
    while (set[p] != p) p = set[p] = set[set[p]];
    return p;
  };
  for (std::size_t w = 0; w < pieces.of.size(); ++w) {
    int& lowest = first[model.pod_sets.of[w]];
    if (lowest < 0) lowest = pieces.of[w];
    const int a = root(lowest);
    const int b = root(pieces.of[w]);
    set[std::max(a, b)] = std::min(a, b);
  }
  for (std::size_t p = 0; p < set.size(); ++p) set[p] = root(static_cast<int>(p));
  return set;
}

// Groups over pieces; equal ones are added up.
void AddGroups(const std::vector<WorkerGroup>& groups, bool tensor, const Partition& pieces,
               SearchProblem& problem) {
  std::map<std::vector<int>, std::int64_t> counts;
  for (const WorkerGroup& group : groups) {
    std::vector<int> mine;
    for (int worker : group.workers) mine.push_back(pieces.of[worker]);
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    if (mine.size() > 1) counts[std::move(mine)] += group.count;
  }
  for (auto& [mine, count] : counts) problem.groups.push_back({mine, count, tensor});
}

}  // namespace

std::vector<int> HomeOf(const Partition& fine, const Partition& coarse) {
  std::vector<int> home(fine.size.size());
  for (std::size_t w = 0; w < fine.of.size(); ++w) home[fine.of[w]] = coarse.of[w];
  return home;
}

std::vector<std::vector<int>> StagesOf(const GangModel& model, const workload::WorkerGroups& groups,
                                       const Partition& pieces) {
  std::vector<std::vector<int>> stages(pieces.size.size());
  if (model.max_stages_per_segment == 0) return stages;
  for (std::size_t w = 0; w < pieces.of.size(); ++w) {
    std::vector<int>& mine = stages[pieces.of[w]];
    mine.insert(mine.end(), groups.stages_of_worker[w].begin(), groups.stages_of_worker[w].end());
  }
  for (std::vector<int>& mine : stages) {
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
  }
  return stages;
}

SearchProblem ProblemOf(const fabric::Places& places, const GangModel& model,
                        const workload::WorkerGroups& groups, const Capacity& capacity,
                        const Partition& pieces) {
  SearchProblem problem;
  problem.piece_size = pieces.size;
  problem.component = HomeOf(pieces, model.components);
  problem.pod_set = PodSetsOf(model, pieces);
  problem.stages = StagesOf(model, groups, pieces);
  AddGroups(groups.tensor, true, pieces, problem);
  AddGroups(groups.context, true, pieces, problem);
  AddGroups(groups.expert, true, pieces, problem);
  AddGroups(groups.data, false, pieces, problem);
  problem.max_stages_per_segment = model.max_stages_per_segment;
  problem.capacity = capacity.of_segment;
  problem.piece_classes = CountClasses(capacity.classes, pieces.of, pieces.count());
  problem.class_capacities = capacity.classes.of_segment;
  problem.places_alike = !capacity.classes.any();
  for (fabric::SegmentId s : places.segments()) {
    problem.pod_of_segment.push_back(places.fabric_pod_of(s).value);
  }
  return problem;
}

}  // namespace yardmaster::placement
