#include "pkg/placement/hosts_near.h"

namespace yardmaster::placement {

using workload::TopologyLevel;

std::vector<std::uint8_t> HostsNear(const fabric::Places& places, const GangRequest& request,
                                    const std::set<fabric::SegmentId>& segments,
                                    const std::set<fabric::FabricPodId>& fabric_pods,
                                    TopologyLevel level) {
  std::vector<std::uint8_t> near(static_cast<std::size_t>(places.num_hosts()), 0);
  for (const fabric::HostId host : places.hosts()) {
    const bool allowed = request.eligible == nullptr || request.eligible->empty() ||
                         (*request.eligible)[host.index()] != 0;
    const bool is_near =
        level == TopologyLevel::kFabric ||
        (level == TopologyLevel::kFabricPod ? fabric_pods.count(places.fabric_pod_of(host)) != 0
                                            : segments.count(places.segment_of(host)) != 0);
    near[host.index()] = allowed && is_near ? 1 : 0;
  }
  return near;
}

}  // namespace yardmaster::placement
