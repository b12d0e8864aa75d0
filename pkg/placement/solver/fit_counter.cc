#include "pkg/placement/solver/fit_counter.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace yardmaster::placement {

namespace {

constexpr int kMaxCovered = 16;

// The most stages of `size` workers that segments of these capacities hold, no two stages in one.
int MostCovered(std::vector<int> capacities, int size) {
  std::erase(capacities, 0);
  const auto whole =
      std::count_if(capacities.begin(), capacities.end(), [&](int r) { return r >= size; });
  std::erase_if(capacities, [&](int r) { return r >= size; });
  if (static_cast<int>(capacities.size()) > kMaxCovered) {
    const std::int64_t sum = std::accumulate(capacities.begin(), capacities.end(), std::int64_t{0});
    return static_cast<int>(whole + sum / size);
  }
  // By set of segments used: stages covered, then workers placed of the next one. What exceeds a
  // stage is lost.
  std::vector<std::pair<int, int>> best(std::size_t{1} << capacities.size());
  for (std::size_t used = 1; used < best.size(); ++used) {
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      if ((used >> i & 1) == 0) continue;
      auto [stages, covered] = best[used ^ (std::size_t{1} << i)];
      covered += capacities[i];
      if (covered >= size) {
        ++stages;
        covered = 0;
      }
      best[used] = std::max(best[used], {stages, covered});
    }
  }
  return static_cast<int>(whole) + best.back().first;
}

// Workers that the `limit` largest stages have.
std::int64_t MostOfStages(const workload::WorkerGroups& groups, int limit) {
  std::vector<std::int64_t> sizes;
  for (const auto& workers : groups.workers_of_stage) {
    sizes.push_back(static_cast<std::int64_t>(workers.size()));
  }
  std::sort(sizes.rbegin(), sizes.rend());
  sizes.resize(std::min(sizes.size(), static_cast<std::size_t>(limit)));
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

bool EveryStageInOnePodSet(const GangModel& model, const workload::WorkerGroups& groups) {
  return std::all_of(groups.workers_of_stage.begin(), groups.workers_of_stage.end(),
                     [&](const auto& workers) {
                       return std::all_of(workers.begin(), workers.end(), [&](int w) {
                         return model.pod_sets.of[w] == model.pod_sets.of[workers[0]];
                       });
                     });
}

}  // namespace

FitCounter::FitCounter(const fabric::Places& places, const GangModel& model,
                       const workload::WorkerGroups& groups)
    : places_(places),
      workers_(model.workers),
      atoms_(ClassesOf(model.atoms.size)),
      pod_sets_(ClassesOf(model.pod_sets.size)) {
  if (model.max_stages_per_segment == 0) return;
  max_in_segment_ = MostOfStages(groups, model.max_stages_per_segment);
  stages_ = static_cast<int>(groups.workers_of_stage.size());
  // Stages of one size that share no worker.
  const auto size = static_cast<std::int64_t>(groups.workers_of_stage[0].size());
  if (model.max_stages_per_segment == 1 && size * stages_ == workers_ && max_in_segment_ == size &&
      EveryStageInOnePodSet(model, groups)) {
    cover_size_ = static_cast<int>(size);
  }
}

std::vector<FitCounter::Class> FitCounter::ClassesOf(const std::vector<int>& sizes) {
  std::map<int, std::int64_t, std::greater<>> counts;
  for (int size : sizes) ++counts[size];
  std::vector<Class> classes;
  for (const auto& [size, count] : counts) {
    classes.push_back({size, count + (classes.empty() ? 0 : classes.back().at_least)});
  }
  return classes;
}

bool FitCounter::Short(const std::vector<Class>& classes,
                       const std::vector<std::int64_t>& capacities) {
  return std::any_of(classes.begin(), classes.end(), [&](const Class& c) {
    std::int64_t held = 0;
    for (std::int64_t workers : capacities) held += workers / c.size;
    return held < c.at_least;
  });
}

bool FitCounter::CannotFit(const Capacity& capacity) const {
  std::vector<std::int64_t> capacities(capacity.of_segment.begin(), capacity.of_segment.end());
  if (max_in_segment_ > 0) {
    for (std::int64_t& workers : capacities) workers = std::min(workers, max_in_segment_);
  }
  if (Short(atoms_, capacities)) return true;
  std::int64_t total = 0;
  std::vector<std::int64_t> pods(static_cast<std::size_t>(places_.num_fabric_pods()), 0);
  for (fabric::SegmentId s : places_.segments()) {
    std::int64_t& workers = capacities[s.index()];
    if (atoms_.size() == 1) workers -= workers % atoms_[0].size;
    pods[places_.fabric_pod_of(s).index()] += workers;
    total += workers;
  }
  if (total < workers_ || Short(pod_sets_, pods)) return true;
  return cover_size_ > 0 && StagesUncovered(capacities);
}

bool FitCounter::StagesUncovered(const std::vector<std::int64_t>& capacities) const {
  int covered = 0;
  for (fabric::FabricPodId pod : places_.fabric_pods()) {
    std::vector<int> mine;
    for (fabric::SegmentId s : places_.segments_of(pod)) {
      mine.push_back(static_cast<int>(capacities[s.index()]));
    }
    covered += MostCovered(std::move(mine), cover_size_);
    if (covered >= stages_) return false;
  }
  return true;
}

}  // namespace yardmaster::placement
