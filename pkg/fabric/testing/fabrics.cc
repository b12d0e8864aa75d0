#include "pkg/fabric/testing/fabrics.h"

#include "pkg/base/strings.h"

namespace yardmaster::fabric {

FabricSpec SmallHpn(int fabric_pods, int segments, int hosts_per_segment) {
  FabricSpec spec;
  spec.name = "small-hpn";
  spec.addressing.base = "10.0.0.0";
  spec.fabric_pods = fabric_pods;
  spec.segments_per_fabric_pod = segments;
  spec.hosts_per_segment = hosts_per_segment;
  spec.backup.hosts_per_segment = hosts_per_segment > 2 ? 1 : 0;
  const Tier tor{"tor", Scope::kSegment, 1, true, true, hosts_per_segment, 200, 4, 400, 1};
  Tier agg{"agg", Scope::kFabricPod, 4, false, true, segments * spec.rails, 400, 0, 0, 1};
  spec.tiers = {tor, agg};
  if (fabric_pods > 1) {
    spec.tiers[1].up_ports = 4;
    spec.tiers[1].up_gbps = 400;
    spec.tiers.push_back({"core", Scope::kFabric, 4, false, true, fabric_pods * 4, 400, 0, 0, 1});
  }
  return spec;
}

FabricSpec SinglePlaneHpn(int fabric_pods, int segments, int hosts_per_segment) {
  FabricSpec spec = SmallHpn(fabric_pods, segments, hosts_per_segment);
  spec.name = "single-plane";
  spec.planes = 1;
  spec.tiers[0].switches = 2;
  spec.tiers[1].down_ports *= 2;
  return spec;
}

FabricSpec FatTree(int k) {
  FabricSpec spec;
  spec.name = "fat-tree";
  spec.addressing.base = "10.0.0.0";
  spec.rails = spec.planes = spec.nic_ports = 1;
  spec.gpus_per_host = 8;
  spec.nic_gbps = 400;
  spec.fabric_pods = k;
  spec.segments_per_fabric_pod = k / 2;
  spec.hosts_per_segment = k / 2;
  spec.tiers = {{"edge", Scope::kSegment, 1, false, false, k / 2, 400, k / 2, 400, 1},
                {"agg", Scope::kFabricPod, k / 2, false, false, k / 2, 400, k / 2, 400, 1},
                {"core", Scope::kFabric, k / 2 * (k / 2), false, false, k, 400, 0, 0, k / 2}};
  return spec;
}

FabricSpec StripedCore(int fabric_pods, int segments, int hosts_per_segment) {
  FabricSpec spec = SmallHpn(fabric_pods, segments, hosts_per_segment);
  spec.name = "striped-core";
  spec.tiers[2].stripes = 2;
  return spec;
}

FabricSpec RailGroups(int fabric_pods, int segments, int hosts_per_segment) {
  FabricSpec spec = SmallHpn(fabric_pods, segments, hosts_per_segment);
  spec.name = "rail-groups";
  spec.tiers[0].rails_per_switch = 2;
  spec.tiers[0].down_ports *= 2;
  spec.tiers[1].per_rail = true;
  spec.tiers[1].rails_per_switch = 4;
  if (fabric_pods > 1) spec.tiers[2].down_ports *= 2;
  return spec;
}

std::vector<HostPlace> HostsOf(const FabricSpec& spec) {
  auto padded = [](int n) {
    std::string text = StrCat(n);
    return std::string(text.size() < 3 ? 3 - text.size() : 0, '0') + text;
  };
  std::vector<HostPlace> hosts;
  for (int p = 0; p < spec.fabric_pods; ++p) {
    for (int s = 0; s < spec.segments_per_fabric_pod; ++s) {
      for (int h = 0; h < spec.hosts_per_segment; ++h) {
        hosts.push_back(
            {StrCat("p", p, "s", s, "h", padded(h)), StrCat("p", p), StrCat("p", p, "s", s), {}});
      }
    }
  }
  return hosts;
}

Places PlacesOf(const FabricSpec& spec) { return Places::Build(HostsOf(spec)).value(); }

}  // namespace yardmaster::fabric
