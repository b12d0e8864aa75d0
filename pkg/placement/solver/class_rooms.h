// The room of segments for workers that may use different hosts (role_hosts.h): how many of them
// find a place at once is a flow from classes of workers to hosts by the classes that may use them.
//
// Complexity of Fits: O(workers' classes * rooms) for each augmentation, at most as many as there
// are pairs. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/placement/role_hosts.h"

namespace yardmaster::placement {

// Hosts that the same classes may use, as one.
struct ClassRoom {
  std::uint32_t classes = 0;  // bit c: class c may use it
  std::int32_t workers = 0;
};
using ClassCounts = std::vector<int>;  // workers by class

struct ClassRooms {
  std::vector<std::uint8_t> class_of_worker;  // empty: all workers may use the same hosts
  int num_classes = 0;
  std::vector<std::uint32_t> of_host;  // bit c: class c may use it
  std::vector<std::vector<ClassRoom>> of_segment;

  bool any() const { return !class_of_worker.empty(); }
  // Room for workers of every class.
  void AddForAll(std::size_t segment, std::int32_t workers);
  // The rooms of all segments together.
  std::vector<ClassRoom> Total() const;
};

void AddRoom(std::vector<ClassRoom>& rooms, const ClassRoom& room);
std::int64_t RoomFor(const std::vector<ClassRoom>& rooms, int class_number);
// Whether so many workers of each class find a place there at once.
bool Fits(const ClassCounts& workers, const std::vector<ClassRoom>& rooms);
// By class; `pieces[w]` is the piece of worker w, of `count` ones.
std::vector<ClassCounts> CountClasses(const ClassRooms& classes, const std::vector<int>& pieces,
                                      int count);

}  // namespace yardmaster::placement
