#include "pkg/placement/solver/class_capacity.h"

#include <algorithm>
#include <numeric>

namespace yardmaster::placement {

namespace {

bool MayUse(const ClassCapacity& capacity, std::size_t class_number) {
  return (capacity.classes >> class_number & 1U) != 0;
}

// Assigns workers to the hosts of each capacity, one class after the other. Workers placed before
// move to other hosts where that makes place.
class Flow {
 public:
  Flow(const ClassCounts& workers, const std::vector<ClassCapacity>& capacities)
      : capacities_(capacities),
        placed_(capacities.size(), ClassCounts(workers.size(), 0)),
        tried_(capacities.size()) {
    for (const ClassCapacity& capacity : capacities) left_.push_back(capacity.workers);
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
  // Returns how many of them were placed. No capacity is tried twice, so this ends after as many
  // calls.
  int Push(std::size_t class_number, int workers) {
    for (std::size_t r = 0; r < capacities_.size(); ++r) {
      if (!MayUse(capacities_[r], class_number) || left_[r] == 0) continue;
      const int here = std::min(workers, left_[r]);
      left_[r] -= here;
      placed_[r][class_number] += here;
      return here;
    }
    for (std::size_t r = 0; r < capacities_.size(); ++r) {
      if (!MayUse(capacities_[r], class_number) || tried_[r] != 0) continue;
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

  const std::vector<ClassCapacity>& capacities_;
  std::vector<int> left_;
  std::vector<ClassCounts> placed_;  // by capacity, by class
  std::vector<std::uint8_t> tried_;
};

}  // namespace

void AddCapacity(std::vector<ClassCapacity>& capacities, const ClassCapacity& capacity) {
  const auto known =
      std::find_if(capacities.begin(), capacities.end(),
                   [&](const ClassCapacity& other) { return other.classes == capacity.classes; });
  if (known == capacities.end()) {
    capacities.push_back(capacity);
  } else {
    known->workers += capacity.workers;
  }
}

void ClassCapacities::AddForAll(std::size_t segment, std::int32_t workers) {
  if (any()) AddCapacity(of_segment[segment], {~std::uint32_t{0}, workers});
}

std::vector<ClassCapacity> ClassCapacities::Total() const {
  std::vector<ClassCapacity> total;
  for (const std::vector<ClassCapacity>& capacities : of_segment) {
    for (const ClassCapacity& capacity : capacities) AddCapacity(total, capacity);
  }
  return total;
}

std::int64_t CapacityForClass(const std::vector<ClassCapacity>& capacities, int class_number) {
  std::int64_t workers = 0;
  for (const ClassCapacity& capacity : capacities) {
    if (MayUse(capacity, static_cast<std::size_t>(class_number))) workers += capacity.workers;
  }
  return workers;
}

bool Fits(const ClassCounts& workers, const std::vector<ClassCapacity>& capacities) {
  std::int64_t left = -std::accumulate(workers.begin(), workers.end(), std::int64_t{0});
  for (const ClassCapacity& capacity : capacities) left += capacity.workers;
  if (left < 0) return false;
  Flow flow(workers, capacities);
  for (std::size_t c = 0; c < workers.size(); ++c) {
    if (!flow.Place(c, workers[c])) return false;
  }
  return true;
}

std::vector<ClassCounts> CountClasses(const ClassCapacities& classes,
                                      const std::vector<int>& pieces, int count) {
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
