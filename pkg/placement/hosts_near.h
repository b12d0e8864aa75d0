// The hosts that are near a gang: where ranks that are added or that move are looked for first.
// Thread safety: pure functions. Complexity: O(hosts) and a lookup each.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/placement/gang_request.h"
#include "pkg/workload/job.h"

namespace yardmaster::placement {

inline constexpr workload::TopologyLevel kNearestFirst[] = {workload::TopologyLevel::kSegment,
                                                            workload::TopologyLevel::kFabricPod,
                                                            workload::TopologyLevel::kFabric};

// By host: 1 where the request allows it and it lies in one of `segments` (kSegment), in one of
// `fabric_pods` (kFabricPod), or anywhere (kFabric).
std::vector<std::uint8_t> HostsNear(const fabric::Places& places, const GangRequest& request,
                                    const std::set<fabric::SegmentId>& segments,
                                    const std::set<fabric::FabricPodId>& fabric_pods,
                                    workload::TopologyLevel level);

}  // namespace yardmaster::placement
