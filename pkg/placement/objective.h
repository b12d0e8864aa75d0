// The quantity that placement minimises, and its value for workers on hosts, segments or domains.
//
// Thread safety: values and pure functions. Complexity: O(sum of group sizes).
#pragma once

#include <compare>
#include <cstdint>
#include <tuple>
#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/workload/job.h"

namespace yardmaster::placement {

// Minimised in the order of operator<=> (docs/placement.md). A split counts, summed over groups,
// (the number of places that contain the group) - 1. `tensor` means tensor, context and expert
// groups. The numbers of domains are 0 on a fabric without domains.
struct Objective {
  std::int64_t tensor_split_fabric_pods = 0;
  std::int64_t data_split_fabric_pods = 0;
  std::int64_t tensor_split_segments = 0;
  std::int64_t data_split_segments = 0;
  std::int64_t fabric_pods = 0;
  std::int64_t segments = 0;
  std::int64_t domains = 0;
  std::int64_t tensor_split_domains = 0;  // compared first

  bool operator==(const Objective&) const = default;
  std::strong_ordering operator<=>(const Objective& other) const {
    const auto key = [](const Objective& o) {
      return std::tie(o.tensor_split_domains, o.tensor_split_fabric_pods, o.data_split_fabric_pods,
                      o.tensor_split_segments, o.data_split_segments, o.fabric_pods, o.segments,
                      o.domains);
    };
    return key(*this) <=> key(other);
  }
};

// Returns the value of an assignment. REQUIRES: every rank has a host.
Objective Evaluate(const fabric::Places& places, const workload::WorkerGroups& groups,
                   const std::vector<fabric::HostId>& host_of_rank);
// Returns the value if only the segments of the workers are known; the numbers of domains are 0.
Objective EvaluateSegments(const fabric::Places& places, const workload::WorkerGroups& groups,
                           const std::vector<int>& segment_of_worker);
// Returns the value if the domains of the workers are known.
Objective EvaluateDomains(const fabric::Places& places, const workload::WorkerGroups& groups,
                          const std::vector<int>& domain_of_worker);

}  // namespace yardmaster::placement
