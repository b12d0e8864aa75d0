#include "pkg/placement/no_room.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

namespace yardmaster::placement {

namespace {

constexpr int kMostCovered = 16;

// Whether all classes find a place of their own size class by size class, largest first.
bool CountsFit(const std::vector<int>& sizes, const std::vector<std::int64_t>& rooms) {
  std::map<int, std::int64_t, std::greater<>> classes;
  for (int size : sizes) ++classes[size];
  std::int64_t wanted = 0;
  for (const auto& [size, count] : classes) {
    wanted += count;
    std::int64_t held = 0;
    for (std::int64_t room : rooms) held += room / size;
    if (held < wanted) return false;
  }
  return true;
}

// The most stages of `size` workers that segments with these rooms hold, each segment one stage.
int MostCovered(std::vector<int> rooms, int size) {
  std::erase(rooms, 0);
  const auto whole = std::count_if(rooms.begin(), rooms.end(), [&](int r) { return r >= size; });
  std::erase_if(rooms, [&](int r) { return r >= size; });
  if (static_cast<int>(rooms.size()) > kMostCovered) {
    const std::int64_t sum = std::accumulate(rooms.begin(), rooms.end(), std::int64_t{0});
    return static_cast<int>(whole + sum / size);
  }
  // By set of segments used: stages covered, then room given to the next one. What is over is lost.
  std::vector<std::pair<int, int>> best(std::size_t{1} << rooms.size());
  for (std::size_t used = 1; used < best.size(); ++used) {
    for (std::size_t i = 0; i < rooms.size(); ++i) {
      if ((used >> i & 1) == 0) continue;
      auto [stages, room] = best[used ^ (std::size_t{1} << i)];
      room += rooms[i];
      if (room >= size) {
        ++stages;
        room = 0;
      }
      best[used] = std::max(best[used], {stages, room});
    }
  }
  return static_cast<int>(whole) + best.back().first;
}

class Counter {
 public:
  Counter(const fabric::Places& places, const GangModel& model,
          const workload::WorkerGroups& groups, const Capacity& capacity)
      : places_(places), model_(model), groups_(groups), rooms_(capacity.of_segment) {}

  bool NoRoom() {
    LimitByStages();
    const std::vector<std::int64_t> rooms(rooms_.begin(), rooms_.end());
    if (!CountsFit(model_.atoms.size, rooms)) return true;
    const int atom = *std::min_element(model_.atoms.size.begin(), model_.atoms.size.end());
    const bool equal =
        *std::max_element(model_.atoms.size.begin(), model_.atoms.size.end()) == atom;
    std::int64_t total = 0;
    std::vector<std::int64_t> pods(static_cast<std::size_t>(places_.num_fabric_pods()), 0);
    for (fabric::SegmentId s : places_.segments()) {
      int& room = rooms_[s.index()];
      if (equal) room -= room % atom;
      pods[places_.fabric_pod_of(s).index()] += room;
      total += room;
    }
    if (total < model_.workers || !CountsFit(model_.pod_sets.size, pods)) return true;
    return model_.max_stages_per_segment == 1 && StagesUncovered();
  }

 private:
  void LimitByStages() {
    if (model_.max_stages_per_segment == 0) return;
    std::vector<int> sizes;
    for (const auto& workers : groups_.workers_of_stage) {
      sizes.push_back(static_cast<int>(workers.size()));
    }
    std::sort(sizes.rbegin(), sizes.rend());
    sizes.resize(std::min(sizes.size(), static_cast<std::size_t>(model_.max_stages_per_segment)));
    const int most = std::accumulate(sizes.begin(), sizes.end(), 0);
    for (int& room : rooms_) room = std::min(room, most);
  }

  // REQUIRES: at most one stage in a segment.
  bool StagesUncovered() {
    const auto stages = static_cast<int>(groups_.workers_of_stage.size());
    const auto size = groups_.workers_of_stage[0].size();
    if (size * groups_.workers_of_stage.size() != static_cast<std::size_t>(model_.workers)) {
      return false;  // of different sizes, or workers of several stages
    }
    // Only stages that cannot leave a fabric pod are counted pod by pod.
    if (!EveryStageInOnePod()) return false;
    int covered = 0;
    for (fabric::FabricPodId pod : places_.fabric_pods()) {
      std::vector<int> rooms;
      for (fabric::SegmentId s : places_.segments_of(pod)) rooms.push_back(rooms_[s.index()]);
      covered += MostCovered(std::move(rooms), static_cast<int>(size));
      if (covered >= stages) return false;
    }
    return true;
  }

  bool EveryStageInOnePod() const {
    return std::all_of(groups_.workers_of_stage.begin(), groups_.workers_of_stage.end(),
                       [&](const auto& workers) {
                         return std::all_of(workers.begin(), workers.end(), [&](int w) {
                           return model_.pod_sets.of[w] == model_.pod_sets.of[workers[0]];
                         });
                       });
  }

  const fabric::Places& places_;
  const GangModel& model_;
  const workload::WorkerGroups& groups_;
  std::vector<int> rooms_;  // by segment
};

}  // namespace

bool NoRoom(const fabric::Places& places, const GangModel& model,
            const workload::WorkerGroups& groups, const Capacity& capacity) {
  return Counter(places, model, groups, capacity).NoRoom();
}

}  // namespace yardmaster::placement
