// FitCounter proves by counting that a gang does not fit, where a search would have to try all
// placements.
//
//   atoms      a segment with capacity c holds at most c div a atoms of at least a workers
//   pod sets   a fabric pod holds at most C div z pod sets of at least z workers. C is the sum of
//              its segments' capacities; with equal atoms each is rounded down to whole atoms
//   stages     a segment with at most L stages holds no more workers than the L largest stages
//              have. With L = 1 and stages that must share a fabric pod, every stage covers its own
//              segments (bin covering, solved exactly per pod up to kMaxCovered segments)
//
// With equal atoms, equal pod sets and no limit of stages the counts are exact: if none is short,
// the gang fits. Otherwise they are necessary conditions only.
//
// Complexity: O(workers) once, then O(segments * distinct sizes), and 2^kMaxCovered per fabric pod
// for bin covering. Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"

namespace yardmaster::placement {

class FitCounter {
 public:
  // Counts the gang once. The references must outlive the counter.
  FitCounter(const fabric::Places& places, const GangModel& model,
             const workload::WorkerGroups& groups);

  // Returns true if no placement exists in this capacity; false: one may exist.
  bool CannotFit(const Capacity& capacity) const;

 private:
  struct Class {
    int size = 0;
    std::int64_t at_least = 0;  // number of this size or larger
  };
  static std::vector<Class> ClassesOf(const std::vector<int>& sizes);
  static bool Short(const std::vector<Class>& classes, const std::vector<std::int64_t>& capacities);
  bool StagesUncovered(const std::vector<std::int64_t>& capacities) const;

  const fabric::Places& places_;
  std::int64_t workers_ = 0;
  std::vector<Class> atoms_;  // largest first
  std::vector<Class> pod_sets_;
  std::int64_t max_in_segment_ = 0;  // by the limit of stages; 0: no limit
  int cover_size_ = 0;               // size of stages that cover their own segments; 0: they do not
  int stages_ = 0;
};

}  // namespace yardmaster::placement
