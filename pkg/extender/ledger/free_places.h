// Counts the free capacity of domains, segments and fabric pods, for metrics: for each of a few
// fixed sizes, how many places have that many free ordinary hosts, and how many gangs of that size
// fit at once, each inside one place. The sizes are fixed so that the number of metrics does not
// grow with the fabric. A host is free if it is available and all its GPUs are free.
//
// Complexity: O(hosts). Thread safety: pure functions.
#pragma once

#include <array>
#include <vector>

#include "pkg/placement/cluster.h"
#include "pkg/workload/job.h"

namespace yardmaster::extender {

inline constexpr std::array<int, 11> kFreePlaceSizes = {1,  2,   4,   8,   16,  32,
                                                        64, 128, 256, 512, 1024};

struct FreePlaces {
  workload::TopologyLevel level = workload::TopologyLevel::kSegment;
  // By index into kFreePlaceSizes.
  std::array<int, kFreePlaceSizes.size()> at_least = {};
  std::array<int, kFreePlaceSizes.size()> slots = {};  // gangs that fit at once
  int whole = 0;  // places with ordinary hosts, all of them free
  bool operator==(const FreePlaces&) const = default;
};

// Ordinary hosts of a place (those that are not backup hosts), and the free ones among them.
struct OrdinaryHosts {
  int all = 0;
  int free = 0;
  bool AllFree() const { return all > 0 && free == all; }
};
OrdinaryHosts OrdinaryHostsOf(const placement::Cluster& cluster,
                              fabric::IdRange<fabric::HostId> hosts);

// Returns the counts of domains, if the hosts have any, of segments and of fabric pods, in this
// order.
std::vector<FreePlaces> FreePlacesOf(const placement::Cluster& cluster);

}  // namespace yardmaster::extender
