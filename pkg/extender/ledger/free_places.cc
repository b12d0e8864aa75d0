#include "pkg/extender/ledger/free_places.h"

#include <cstddef>

namespace yardmaster::extender {

namespace {

template <typename IdType>
FreePlaces FreeIn(const placement::Cluster& cluster, fabric::IdRange<IdType> places,
                  workload::TopologyLevel level) {
  FreePlaces out;
  out.level = level;
  for (const IdType place : places) {
    int ordinary = 0, free = 0;
    for (const fabric::HostId id : cluster.places->hosts_of(place)) {
      const placement::HostState& host = cluster.hosts[id.index()];
      if (host.backup) continue;
      ++ordinary;
      const bool usable = host.unavailable == placement::Unavailability::kNo;
      free += usable && host.gpus > 0 && host.free_gpus == host.gpus ? 1 : 0;
    }
    for (std::size_t s = 0; s < kFreePlaceSizes.size(); ++s) {
      out.at_least[s] += free >= kFreePlaceSizes[s] ? 1 : 0;
    }
    out.whole += ordinary > 0 && free == ordinary ? 1 : 0;
  }
  return out;
}

}  // namespace

std::vector<FreePlaces> FreePlacesOf(const placement::Cluster& cluster) {
  using workload::TopologyLevel;
  const fabric::Places& places = *cluster.places;
  std::vector<FreePlaces> out;
  if (places.has_domains()) {
    out.push_back(FreeIn(cluster, places.domains(), TopologyLevel::kDomain));
  }
  out.push_back(FreeIn(cluster, places.segments(), TopologyLevel::kSegment));
  out.push_back(FreeIn(cluster, places.fabric_pods(), TopologyLevel::kFabricPod));
  return out;
}

}  // namespace yardmaster::extender
