#include "simulation/bench/trace_fabrics.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "pkg/base/strings.h"

namespace yardmaster::bench {
namespace {

fabric::Tier MakeTier(const char* role, fabric::Scope scope, int switches, int down_ports,
                      int down_gbps, int up_ports, int up_gbps) {
  fabric::Tier tier;
  tier.role = role;
  tier.scope = scope;
  tier.switches = switches;
  tier.per_plane = false;
  tier.down_ports = down_ports;
  tier.down_gbps = down_gbps;
  tier.up_ports = up_ports;
  tier.up_gbps = up_gbps;
  return tier;
}

// Hosts as in the paper's testbed: eight A100, four NICs of 200 Gbit/s.
fabric::FabricSpec BaseSpec(const char* name) {
  fabric::FabricSpec spec;
  spec.name = name;
  spec.rails = 4;
  spec.planes = 1;
  spec.nic_ports = 1;
  spec.nic_gbps = 200;
  spec.nvlink_gbps = 2400;
  return spec;
}

}  // namespace

fabric::FabricSpec TwoLayer(int uplink_gbps) {
  fabric::FabricSpec spec = BaseSpec("two-layer");
  spec.segments_per_fabric_pod = 173;
  spec.hosts_per_segment = 5;
  spec.tiers = {MakeTier("tor", fabric::Scope::kSegment, 1, 20, 200, 16, uplink_gbps),
                MakeTier("agg", fabric::Scope::kFabric, 16, 173, uplink_gbps, 0, 0)};
  return spec;
}

fabric::FabricSpec ThreeLayer() {
  fabric::FabricSpec spec = BaseSpec("three-layer");
  spec.fabric_pods = 3;
  spec.segments_per_fabric_pod = 2;
  spec.hosts_per_segment = 48;
  spec.tiers = {MakeTier("tor", fabric::Scope::kSegment, 1, 192, 200, 32, 400),
                MakeTier("agg", fabric::Scope::kFabricPod, 4, 16, 400, 32, 200),
                MakeTier("core", fabric::Scope::kFabric, 32, 12, 200, 0, 0)};
  return spec;
}

fabric::FabricSpec RecordedShape(int uplink_gbps) {
  fabric::FabricSpec spec = BaseSpec("recorded-shape");
  spec.fabric_pods = 3;
  spec.segments_per_fabric_pod = 40;
  spec.hosts_per_segment = 8;
  spec.tiers = {MakeTier("tor", fabric::Scope::kSegment, 1, 32, 200, 16, uplink_gbps),
                MakeTier("agg", fabric::Scope::kFabricPod, 16, 40, uplink_gbps, 40, uplink_gbps),
                MakeTier("core", fabric::Scope::kFabric, 40, 48, uplink_gbps, 0, 0)};
  return spec;
}

fabric::Network BuildNetwork(const fabric::FabricSpec& spec) {
  std::vector<fabric::HostPlace> hosts;
  for (int p = 0; p < spec.fabric_pods; ++p) {
    for (int s = 0; s < spec.segments_per_fabric_pod; ++s) {
      for (int h = 0; h < spec.hosts_per_segment; ++h) {
        char name[48];
        std::snprintf(name, sizeof name, "p%02ds%03dh%03d", p, s, h);
        hosts.push_back({name, StrCat("p", 10 + p), StrCat("s", 1000 + s), {}});
      }
    }
  }
  auto places = fabric::Places::Build(hosts);
  auto network =
      fabric::Network::Build(spec, std::make_shared<const fabric::Places>(*std::move(places)));
  if (!network.ok()) {
    std::fprintf(stderr, "%s\n", MessageOf(network.status()).c_str());
    std::exit(1);
  }
  return *std::move(network);
}

}  // namespace yardmaster::bench
