// What segments take of workers that may use different hosts (role_hosts.h): how many of them find
// a place at once is a flow from classes of workers to hosts by the classes that may use them.
//
// Complexity of Fits: O(workers' classes * capacities) for each augmentation, at most as many as
// there are pairs. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/placement/role_hosts.h"

namespace yardmaster::placement {

// The hosts that the same classes may use, counted together.
struct ClassCapacity {
  std::uint32_t classes = 0;  // bit c: class c may use them
  std::int32_t workers = 0;   // that they take
};
using ClassCounts = std::vector<int>;  // workers by class

struct ClassCapacities {
  std::vector<std::uint8_t> class_of_worker;  // empty: all workers may use the same hosts
  int num_classes = 0;
  std::vector<std::uint32_t> of_host;  // bit c: class c may use it
  std::vector<std::vector<ClassCapacity>> of_segment;

  bool any() const { return !class_of_worker.empty(); }
  // Adds to the segment hosts that take `workers` workers of any class.
  void AddForAll(std::size_t segment, std::int32_t workers);
  // Of all segments together.
  std::vector<ClassCapacity> Total() const;
};

void AddCapacity(std::vector<ClassCapacity>& capacities, const ClassCapacity& capacity);
std::int64_t CapacityForClass(const std::vector<ClassCapacity>& capacities, int class_number);
// Whether so many workers of each class find a place there at once.
bool Fits(const ClassCounts& workers, const std::vector<ClassCapacity>& capacities);
// By class; `pieces[w]` is the piece of worker w, of `count` ones.
std::vector<ClassCounts> CountClasses(const ClassCapacities& classes,
                                      const std::vector<int>& pieces, int count);

}  // namespace yardmaster::placement
