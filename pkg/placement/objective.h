// What placement minimises, and its value for workers on hosts or segments.
//
// Thread safety: values and pure functions. Complexity: O(sum of group sizes).
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/workload/job.h"

namespace yardmaster::placement {

// Minimised in this order (docs/placement.md). The first four are sums, over groups, of (the number
// of places that the group lies in - 1); `tensor` stands for tensor, context and expert groups.
struct Objective {
  std::int64_t tensor_split_fabric_pods = 0;
  std::int64_t data_split_fabric_pods = 0;
  std::int64_t tensor_split_segments = 0;
  std::int64_t data_split_segments = 0;
  std::int64_t fabric_pods = 0;
  std::int64_t segments = 0;
  auto operator<=>(const Objective&) const = default;
};

// The value of an assignment. REQUIRES: every rank has a host.
Objective Evaluate(const fabric::Places& places, const workload::WorkerGroups& groups,
                   const std::vector<fabric::HostId>& host_of_rank);
// The same for workers of which the segment is known.
Objective EvaluateSegments(const fabric::Places& places, const workload::WorkerGroups& groups,
                           const std::vector<int>& segment_of_worker);

}  // namespace yardmaster::placement
