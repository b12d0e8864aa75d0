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
    const OrdinaryHosts hosts = OrdinaryHostsOf(cluster, cluster.places->hosts_of(place));
    for (std::size_t s = 0; s < kFreePlaceSizes.size(); ++s) {
      out.at_least[s] += hosts.free >= kFreePlaceSizes[s] ? 1 : 0;
      out.slots[s] += hosts.free / kFreePlaceSizes[s];
    }
    out.whole += hosts.AllFree() ? 1 : 0;
  }
  return out;
}

}  // namespace

OrdinaryHosts OrdinaryHostsOf(const placement::Cluster& cluster,
                              fabric::IdRange<fabric::HostId> hosts) {
  OrdinaryHosts out;
  for (const fabric::HostId id : hosts) {
    const placement::HostState& host = cluster.hosts[id.index()];
    if (host.backup) continue;
    ++out.all;
    const bool usable = host.unavailable == placement::Unavailability::kNo;
    out.free += usable && host.gpus > 0 && host.free_gpus == host.gpus ? 1 : 0;
  }
  return out;
}

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
