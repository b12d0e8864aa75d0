#include "pkg/fabric/spec.h"

#include <functional>

#include "gtest/gtest.h"

#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::fabric {
namespace {

TEST(SpecTest, TheFabricsOfTheTestsAreValid) {
  for (const FabricSpec& spec :
       {SmallHpn(1, 2, 4), SmallHpn(2, 2, 4), SinglePlaneHpn(1, 2, 4), FatTree(4), FatTree(8),
        StripedCore(2, 2, 4), RailGroups(1, 2, 4), RailGroups(2, 2, 4)}) {
    EXPECT_EQ(Problems(spec), std::vector<std::string>()) << spec.name;
  }
}

struct Case {
  const char* field;
  std::function<void(FabricSpec&)> spoil;
};

TEST(SpecTest, EveryContradictionNamesItsField) {
  const Case cases[] = {
      {"spec.planes:", [](FabricSpec& s) { s.planes = 3; }},
      {"spec.host.rails:", [](FabricSpec& s) { s.rails = 5; }},
      {"spec.size.hostsPerSegment:", [](FabricSpec& s) { s.hosts_per_segment = 0; }},
      {"spec.backup.hostsPerSegment:", [](FabricSpec& s) { s.backup.hosts_per_segment = 99; }},
      {"spec.tiers:", [](FabricSpec& s) { s.tiers.clear(); }},
      {"spec.tiers[0].downPorts:", [](FabricSpec& s) { s.tiers[0].down_ports = 3; }},
      {"spec.tiers[0].switches:", [](FabricSpec& s) { s.tiers[0].switches = 2; }},
      {"spec.tiers[0].upPorts:", [](FabricSpec& s) { s.tiers[0].up_ports = 5; }},
      {"spec.tiers[1].downPorts:", [](FabricSpec& s) { s.tiers[1].down_ports = 7; }},
      {"spec.tiers[1].downGbps:", [](FabricSpec& s) { s.tiers[1].down_gbps = 100; }},
      {"spec.tiers[1].role:", [](FabricSpec& s) { s.tiers[1].role = "tor"; }},
      {"spec.tiers[0].railsPerSwitch:", [](FabricSpec& s) { s.tiers[0].rails_per_switch = 3; }},
      {"spec.tiers[0].railsPerSwitch:", [](FabricSpec& s) { s.tiers[0].rails_per_switch = 0; }},
      {"spec.tiers[0].downPorts:", [](FabricSpec& s) { s.tiers[0].rails_per_switch = 2; }},
      {"spec.tiers[1].railsPerSwitch:", [](FabricSpec& s) { s.tiers[1].rails_per_switch = 2; }},
      {"spec.tiers[1].railsPerSwitch:",
       [](FabricSpec& s) {
         s.tiers[0].rails_per_switch = 4;
         s.tiers[0].down_ports = 16;
         s.tiers[1].per_rail = true;
         s.tiers[1].rails_per_switch = 2;
       }},
      {"spec.switchNames[b]:",
       [](FabricSpec& s) {
         s.switch_names = {{"a", "leaf"}, {"b", "leaf"}};
       }},
      {"spec.switchNames[a]:",
       [](FabricSpec& s) {
         s.switch_names = {{"a", "leaf:1"}};
       }},
      {"spec.switchNames[a]:",
       [](FabricSpec& s) {
         s.tiers[1].scope = Scope::kFabric;
         s.switch_names = {{"a", "agg-p1-3"}};
       }},
      {"spec.switchNames[p0/agg-p0-3]: spec.absentSwitches has \"spine\", and takes ids; "
       "give p0/agg-p0-3 there",
       [](FabricSpec& s) {
         s.switch_names = {{"p0/agg-p0-3", "spine"}};
         s.absent_switches = {"p0/agg-p0-2", "spine"};
       }},
      {"spec.networkLevels.reserved:", [](FabricSpec& s) { s.levels.reserved = {9}; }},
      {"spec.addressing.base:", [](FabricSpec& s) { s.addressing.base = "10.0.0.256"; }},
      {"spec.addressing.base:", [](FabricSpec& s) { s.addressing.base = "fd00::1::2"; }},
      {"spec.ecmpHash.spine:", [](FabricSpec& s) { s.ecmp_hash["spine"] = {}; }},
      {"spec.ecmpHash.tor.group.resilientTable:",
       [](FabricSpec& s) {
         s.ecmp_hash["tor"].group.resilient_table = {0, 1, 4};
       }},
      {"spec.ecmpHash.tor.group.weights:",
       [](FabricSpec& s) { s.ecmp_hash["tor"].group.weights.assign(9, 1); }},
  };
  for (const Case& c : cases) {
    FabricSpec spec = SmallHpn(1, 2, 4);
    c.spoil(spec);
    const auto problems = Problems(spec);
    ASSERT_FALSE(problems.empty()) << c.field;
    EXPECT_EQ(problems[0].rfind(c.field, 0), 0u) << problems[0];
    EXPECT_NE(problems[0].find("; "), std::string::npos) << "no fix in: " << problems[0];
  }
}

TEST(SpecTest, ANicPortOfAHostIsItsOwnWhereASwitchHasItsName) {
  FabricSpec spec;
  spec.switch_names = {{"p0/p0s0/tor-r0-p0", "gpu-7"}};
  EXPECT_EQ(OwnName(spec, "gpu-7:r0p1"), "gpu-7:r0p1");
  EXPECT_EQ(OwnName(spec, "gpu-7:u3"), "p0/p0s0/tor-r0-p0:u3");
  EXPECT_EQ(OwnName(spec, "gpu-7"), "p0/p0s0/tor-r0-p0");
}

// 10^8 segments with 10^8 switches of 10^5 cables each: more cables than 64 bits count.
TEST(SpecTest, CablesThatNoNumberHoldsAreTooManyForThePortsAbove) {
  FabricSpec spec = SmallHpn(1, 1, 1);
  spec.fabric_pods = spec.segments_per_fabric_pod = 10'000;
  spec.gpus_per_host = spec.rails = 64;
  spec.planes = spec.nic_ports = 16;
  spec.ecmp_hash.clear();
  spec.backup.hosts_per_segment = 0;
  Tier tor = spec.tiers[0];
  tor.up_ports = 100'000;
  Tier middle = tor;
  middle.role = "middle";
  middle.switches = 100'000;
  middle.down_gbps = tor.up_gbps;
  Tier top;
  top.role = "top";
  top.scope = Scope::kFabric;
  top.per_plane = false;
  top.down_ports = 100'000;
  top.down_gbps = middle.up_gbps;
  spec.tiers = {tor, middle, top};
  EXPECT_EQ(Problems(spec),
            std::vector<std::string>{
                "spec.tiers[2].downPorts: 100000 ports for more than 1000000 cables from middle "
                "switches; build the fabric smaller (spec.size)"});
}

}  // namespace
}  // namespace yardmaster::fabric
