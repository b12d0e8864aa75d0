#include "pkg/placement/solver/no_room.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

namespace yardmaster::placement {

namespace {

constexpr int kMaxCovered = 16;

// The most stages of `size` workers that segments with these rooms hold, each segment one stage.
int MostCovered(std::vector<int> rooms, int size) {
  std::erase(rooms, 0);
  const auto whole = std::count_if(rooms.begin(), rooms.end(), [&](int r) { return r >= size; });
  std::erase_if(rooms, [&](int r) { return r >= size; });
  if (static_cast<int>(rooms.size()) > kMaxCovered) {
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

RoomCounter::RoomCounter(const fabric::Places& places, const GangModel& model,
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

std::vector<RoomCounter::Class> RoomCounter::ClassesOf(const std::vector<int>& sizes) {
  std::map<int, std::int64_t, std::greater<>> counts;
  for (int size : sizes) ++counts[size];
  std::vector<Class> classes;
  for (const auto& [size, count] : counts) {
    classes.push_back({size, count + (classes.empty() ? 0 : classes.back().at_least)});
  }
  return classes;
}

bool RoomCounter::Short(const std::vector<Class>& classes, const std::vector<std::int64_t>& rooms) {
  return std::any_of(classes.begin(), classes.end(), [&](const Class& c) {
    std::int64_t held = 0;
    for (std::int64_t room : rooms) held += room / c.size;
    return held < c.at_least;
  });
}

bool RoomCounter::NoRoom(const Capacity& capacity) const {
  std::vector<std::int64_t> rooms(capacity.of_segment.begin(), capacity.of_segment.end());
  if (max_in_segment_ > 0) {
    for (std::int64_t& room : rooms) room = std::min(room, max_in_segment_);
  }
  if (Short(atoms_, rooms)) return true;
  std::int64_t total = 0;
  std::vector<std::int64_t> pods(static_cast<std::size_t>(places_.num_fabric_pods()), 0);
  for (fabric::SegmentId s : places_.segments()) {
    std::int64_t& room = rooms[s.index()];
    if (atoms_.size() == 1) room -= room % atoms_[0].size;
    pods[places_.fabric_pod_of(s).index()] += room;
    total += room;
  }
  if (total < workers_ || Short(pod_sets_, pods)) return true;
  return cover_size_ > 0 && StagesUncovered(rooms);
}

bool RoomCounter::StagesUncovered(const std::vector<std::int64_t>& rooms) const {
  int covered = 0;
  for (fabric::FabricPodId pod : places_.fabric_pods()) {
    std::vector<int> mine;
    for (fabric::SegmentId s : places_.segments_of(pod)) {
      mine.push_back(static_cast<int>(rooms[s.index()]));
    }
    covered += MostCovered(std::move(mine), cover_size_);
    if (covered >= stages_) return false;
  }
  return true;
}

}  // namespace yardmaster::placement
