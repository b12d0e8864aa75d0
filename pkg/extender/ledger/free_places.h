// What fits into domains, segments and fabric pods: by size, the places with at least so many
// ordinary hosts that are wholly free, and the gangs of that many hosts, each inside one place,
// that fit beside each other. Sizes are few and fixed, so that metrics of them stay as few on the
// largest fabric.
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
  std::array<int, kFreePlaceSizes.size()> slots = {};  // gangs, beside each other
  int whole = 0;  // places with ordinary hosts, of which all are free
  bool operator==(const FreePlaces&) const = default;
};

// Ordinary hosts of a place, and those of them that are wholly free.
struct OrdinaryHosts {
  int all = 0;
  int free = 0;
  bool AllFree() const { return all > 0 && free == all; }
};
OrdinaryHosts OrdinaryHostsOf(const placement::Cluster& cluster,
                              fabric::IdRange<fabric::HostId> hosts);

// Of domains, where hosts have some, of segments and of fabric pods, in this order.
std::vector<FreePlaces> FreePlacesOf(const placement::Cluster& cluster);

}  // namespace yardmaster::extender
