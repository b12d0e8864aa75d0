// Computes how many workers of different classes segments can take. A class is a set of workers
// that may use the same hosts (role_hosts.h). Whether all workers fit at once is a flow problem
// from classes to groups of hosts with the same permitted classes.
//
// Complexity of Fits: O(classes of the workers * capacities) for each augmentation; there are at
// most as many augmentations as pairs. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/placement/role_hosts.h"

namespace yardmaster::placement {

// Hosts that the same classes may use, counted together.
struct ClassCapacity {
  std::uint32_t classes = 0;  // bit c: class c may use them
  std::int32_t workers = 0;   // the workers that the hosts take
};
using ClassCounts = std::vector<int>;  // workers by class

struct ClassCapacities {
  std::vector<std::uint8_t> class_of_worker;  // empty: all workers may use the same hosts
  int num_classes = 0;
  std::vector<std::uint32_t> of_host;  // bit c: class c may use it
  std::vector<std::vector<ClassCapacity>> of_segment;

  bool any() const { return !class_of_worker.empty(); }
  // Adds hosts for `workers` workers of any class to the segment.
  void AddForAll(std::size_t segment, std::int32_t workers);
  // Returns the sum over all segments.
  std::vector<ClassCapacity> Total() const;
};

void AddCapacity(std::vector<ClassCapacity>& capacities, const ClassCapacity& capacity);
std::int64_t CapacityForClass(const std::vector<ClassCapacity>& capacities, int class_number);
// Whether the workers of all classes fit at once.
bool Fits(const ClassCounts& workers, const std::vector<ClassCapacity>& capacities);
// Returns the number of workers by class, for each of `count` pieces. `pieces[w]`: the piece of
// worker w.
std::vector<ClassCounts> CountClasses(const ClassCapacities& classes,
                                      const std::vector<int>& pieces, int count);

}  // namespace yardmaster::placement
