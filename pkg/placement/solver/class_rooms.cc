#include "pkg/placement/solver/class_rooms.h"

#include <algorithm>
#include <numeric>

namespace yardmaster::placement {

namespace {

bool MayUse(const ClassRoom& room, std::size_t class_number) {
  return (room.classes >> class_number & 1U) != 0;
}

// Workers of classes in rooms, one class after the other; those placed before move on where they
// can.
class Flow {
 public:
  Flow(const ClassCounts& workers, const std::vector<ClassRoom>& rooms)
      : rooms_(rooms), placed_(rooms.size(), ClassCounts(workers.size(), 0)), tried_(rooms.size()) {
    for (const ClassRoom& room : rooms) left_.push_back(room.workers);
  }

  bool Place(std::size_t class_number, int workers) {
    while (workers > 0) {
      std::fill(tried_.begin(), tried_.end(), 0);
      const int moved = Push(class_number, workers);
      if (moved == 0) return false;
      workers -= moved;
    }
    return true;
  }

 private:
  // How many of them found room. No room is tried twice, so this ends after as many calls.
  int Push(std::size_t class_number, int workers) {
    for (std::size_t r = 0; r < rooms_.size(); ++r) {
      if (!MayUse(rooms_[r], class_number) || left_[r] == 0) continue;
      const int here = std::min(workers, left_[r]);
      left_[r] -= here;
      placed_[r][class_number] += here;
      return here;
    }
    for (std::size_t r = 0; r < rooms_.size(); ++r) {
      if (!MayUse(rooms_[r], class_number) || tried_[r] != 0) continue;
      tried_[r] = 1;
      for (std::size_t other = 0; other < placed_[r].size(); ++other) {
        if (other == class_number || placed_[r][other] == 0) continue;
        const int moved = Push(other, std::min(workers, placed_[r][other]));
        if (moved == 0) continue;
        placed_[r][other] -= moved;
        placed_[r][class_number] += moved;
        return moved;
      }
    }
    return 0;
  }

  const std::vector<ClassRoom>& rooms_;
  std::vector<int> left_;
  std::vector<ClassCounts> placed_;  // by room, by class
  std::vector<std::uint8_t> tried_;
};

}  // namespace

void AddRoom(std::vector<ClassRoom>& rooms, const ClassRoom& room) {
  const auto known = std::find_if(rooms.begin(), rooms.end(), [&](const ClassRoom& other) {
    return other.classes == room.classes;
  });
  if (known == rooms.end()) {
    rooms.push_back(room);
  } else {
    known->workers += room.workers;
  }
}

void ClassRooms::AddForAll(std::size_t segment, std::int32_t workers) {
  if (any()) AddRoom(of_segment[segment], {~std::uint32_t{0}, workers});
}

std::vector<ClassRoom> ClassRooms::Total() const {
  std::vector<ClassRoom> total;
  for (const std::vector<ClassRoom>& rooms : of_segment) {
    for (const ClassRoom& room : rooms) AddRoom(total, room);
  }
  return total;
}

std::int64_t RoomFor(const std::vector<ClassRoom>& rooms, int class_number) {
  std::int64_t workers = 0;
  for (const ClassRoom& room : rooms) {
    if (MayUse(room, static_cast<std::size_t>(class_number))) workers += room.workers;
  }
  return workers;
}

bool Fits(const ClassCounts& workers, const std::vector<ClassRoom>& rooms) {
  std::int64_t left = -std::accumulate(workers.begin(), workers.end(), std::int64_t{0});
  for (const ClassRoom& room : rooms) left += room.workers;
  if (left < 0) return false;
  Flow flow(workers, rooms);
  for (std::size_t c = 0; c < workers.size(); ++c) {
    if (!flow.Place(c, workers[c])) return false;
  }
  return true;
}

std::vector<ClassCounts> CountClasses(const ClassRooms& classes, const std::vector<int>& pieces,
                                      int count) {
  std::vector<ClassCounts> counts;
  if (!classes.any()) return counts;
  counts.assign(static_cast<std::size_t>(count),
                ClassCounts(static_cast<std::size_t>(classes.num_classes), 0));
  for (std::size_t w = 0; w < pieces.size(); ++w) {
    ++counts[static_cast<std::size_t>(pieces[w])][classes.class_of_worker[w]];
  }
  return counts;
}

}  // namespace yardmaster::placement
