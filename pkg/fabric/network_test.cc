#include "pkg/fabric/network.h"

#include <map>
#include <set>

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::fabric {
namespace {

std::vector<std::pair<std::string, FabricSpec>> Shapes() {
  return {{"hpn", SmallHpn(2, 3, 4)},
          {"single plane", SinglePlaneHpn(2, 2, 3)},
          {"fat tree", FatTree(4)},
          {"striped core", StripedCore(2, 2, 3)}};
}

Network Built(const FabricSpec& spec) {
  auto network = Network::Build(spec, std::make_shared<const Places>(PlacesOf(spec)));
  EXPECT_TRUE(network.ok()) << network.status();
  return *std::move(network);
}

// Walks from a NIC port, always taking member `choose(group size)`, until a host is reached.
NicPort Walk(const Network& net, const NicPort& from, const NicPort& to, Random& random) {
  SwitchId at = net.tor(from);
  for (int hop = 0; hop < 10; ++hop) {
    const auto group = net.next_hops(at, to);
    EXPECT_FALSE(group.empty());
    if (group.empty()) return {};
    const LinkId link = group[random.Below(group.size())];
    const CableId cable = Network::cable_of(link);
    if (net.is_host_cable(cable)) return net.nic_port_of(cable);
    at = net.far_end(link);
  }
  ADD_FAILURE() << "no host after 10 hops";
  return {};
}

TEST(NetworkTest, EveryWalkAlongEcmpGroupsEndsAtTheNicItWasSentTo) {
  for (const auto& [name, spec] : Shapes()) {
    SCOPED_TRACE(name);
    const Network net = Built(spec);
    Random random(7);
    const auto hosts = static_cast<std::uint64_t>(net.places().num_hosts());
    for (int trial = 0; trial < 300; ++trial) {
      const int rail = static_cast<int>(random.Below(static_cast<std::uint64_t>(spec.rails)));
      const int port = static_cast<int>(random.Below(static_cast<std::uint64_t>(spec.nic_ports)));
      const NicPort from{HostId(static_cast<std::int32_t>(random.Below(hosts))), rail, port};
      const NicPort to{HostId(static_cast<std::int32_t>(random.Below(hosts))), rail, port};
      const NicPort end = Walk(net, from, to, random);
      EXPECT_EQ(end.host, to.host);
      EXPECT_EQ(end.rail, to.rail);
      EXPECT_EQ(net.plane_of(end), net.plane_of(to));
    }
  }
}

TEST(NetworkTest, UpCablesAndWhatTheyLeadToAgreeWithTheWayBack) {
  for (const auto& [name, spec] : Shapes()) {
    SCOPED_TRACE(name);
    const Network net = Built(spec);
    std::map<SwitchId, int> arrivals;
    for (int s = 0; s < net.num_switches(); ++s) {
      const SwitchId id(s);
      for (int u = 0; u < net.num_up_ports(id); ++u) {
        const CableId cable = net.up_cable(id, u);
        EXPECT_EQ(net.switch_port_of(cable).id, id);
        EXPECT_EQ(net.switch_port_of(cable).up_port, u);
        EXPECT_EQ(net.far_end(Network::up(cable)), net.upper(id, u));
        EXPECT_EQ(net.far_end(Network::down(cable)), id);
        ++arrivals[net.upper(id, u)];
      }
    }
    for (const auto& [id, cables] : arrivals) {
      EXPECT_LE(cables, spec.tiers[static_cast<std::size_t>(net.tier_of(id))].down_ports);
    }
  }
}

TEST(NetworkTest, NamesAreUniqueAndFindTheirObjectAgain) {
  for (const auto& [name, spec] : Shapes()) {
    SCOPED_TRACE(name);
    const Network net = Built(spec);
    std::set<std::string> names;
    for (int s = 0; s < net.num_switches(); ++s) {
      EXPECT_TRUE(names.insert(net.name(SwitchId(s))).second) << net.name(SwitchId(s));
      EXPECT_EQ(net.FindSwitch(net.name(SwitchId(s))), SwitchId(s));
    }
    for (int c = 0; c < net.num_cables(); c += 3) {
      EXPECT_EQ(net.FindCable(net.name(CableId(c))), CableId(c));
      EXPECT_EQ(net.FindCable(net.name(Network::down(CableId(c)))), CableId(c));
    }
    EXPECT_FALSE(net.FindCable("nowhere:u1").valid());
    EXPECT_FALSE(net.FindCable("").valid());
  }
}

TEST(NetworkTest, PlanesOfHpnNeverMeet) {
  const Network net = Built(SmallHpn(2, 2, 2));
  for (int s = 0; s < net.num_switches(); ++s) {
    const SwitchId id(s);
    for (int u = 0; u < net.num_up_ports(id); ++u) {
      EXPECT_EQ(net.place_of(id).plane, net.place_of(net.upper(id, u)).plane);
    }
  }
}

TEST(NetworkTest, AddressesFollowFromPlaceOrAreThoseOfTheHost) {
  FabricSpec spec = SmallHpn(1, 1, 4);
  std::vector<HostPlace> hosts = HostsOf(spec);
  for (const char* base : {"10.0.0.250", "fd00::ffff:fffa"}) {
    spec.addressing.base = base;
    const IpAddress first = *IpAddress::Parse(base);
    hosts[2].nic_addresses.assign(8, first.Plus(1000));
    auto places = std::make_shared<const Places>(*Places::Build(hosts));
    const auto net = Network::Build(spec, places);
    ASSERT_TRUE(net.ok()) << net.status();
    EXPECT_EQ(net->nic_address(HostId(0), 0), first);
    EXPECT_EQ(net->nic_address(HostId(1), 3), first.Plus(11));
    EXPECT_EQ(net->nic_address(HostId(2), 3), first.Plus(1000));
    EXPECT_TRUE(net->knows_addresses(HostId(1)));
  }
  spec.addressing.base.clear();
  const auto net = Network::Build(spec, std::make_shared<const Places>(*Places::Build(hosts)));
  ASSERT_TRUE(net.ok()) << net.status();
  EXPECT_FALSE(net->knows_addresses(HostId(1)));
  EXPECT_EQ(net->nic_address(HostId(1), 3), IpAddress());
  EXPECT_TRUE(net->knows_addresses(HostId(2)));
  EXPECT_EQ(IpAddress::Parse("10.0.0.250")->Plus(11).ToString(), "10.0.1.5");
  EXPECT_EQ(IpAddress::Parse("fd00::ffff:fffa")->Plus(11).ToString(), "fd00::1:0:5");
}

TEST(NetworkTest, MoreHostsThanPortsAreRefusedWithTheSegment) {
  const FabricSpec spec = SmallHpn(1, 1, 2);
  std::vector<HostPlace> hosts;
  for (int i = 0; i <= spec.tiers[0].down_ports; ++i) {
    hosts.push_back({StrCat("n", i), "p0", "s0", {}});
  }
  auto places = Places::Build(hosts);
  ASSERT_TRUE(places.ok());
  auto network = Network::Build(spec, std::make_shared<const Places>(*places));
  ASSERT_FALSE(network.ok());
  EXPECT_NE(MessageOf(network.status()).find("segment s0"), std::string::npos);
}

// 2 segments with 2^10 groups of 10^5 switches of 10^5 cables each.
TEST(NetworkTest, MoreSwitchesOrCablesThanThereAreIdsAreRefusedWithTheTier) {
  FabricSpec spec = SmallHpn(1, 2, 1);
  spec.gpus_per_host = spec.rails = 64;
  spec.planes = spec.nic_ports = 16;
  Tier tor = spec.tiers[0];
  tor.up_ports = 100'000;
  Tier top = tor;
  top.role = "top";
  top.switches = tor.up_ports;
  top.down_gbps = tor.up_gbps;
  top.up_ports = 0;
  spec.tiers = {tor, top};
  const auto places = std::make_shared<const Places>(PlacesOf(spec));
  EXPECT_EQ(MessageOf(Network::Build(spec, places).status()),
            "Fabric small-hpn: spec.tiers[0]: its cables and those of the tiers below, 204802048, "
            "are more "
            "than 50000000; correct the numbers of switches and ports, or the labels of the Nodes");
  spec.tiers[0].up_ports = spec.tiers[1].switches = 10'000;
  EXPECT_EQ(MessageOf(Network::Build(spec, places).status()),
            "Fabric small-hpn: spec.tiers[1]: its switches and those of the tiers below, 20482048, "
            "are more "
            "than 10000000; correct the numbers of switches and ports, or the labels of the Nodes");
}

// 2200 hosts of 10^6 NIC ports.
TEST(NetworkTest, MoreNicPortsThanThereAreIdsAreRefusedWithTheHosts) {
  FabricSpec spec;
  spec.name = "wide";
  spec.gpus_per_host = spec.rails = 1'000'000;
  spec.nic_ports = spec.planes = 1;
  spec.nic_gbps = 400;
  spec.hosts_per_segment = 1;
  spec.segments_per_fabric_pod = 2200;
  spec.fabric_pods = 1;
  spec.backup.hosts_per_segment = 0;
  Tier tor;
  tor.role = "tor";
  tor.down_ports = spec.rails;
  tor.down_gbps = tor.up_gbps = spec.nic_gbps;
  tor.up_ports = 1;
  Tier top;
  top.role = "top";
  top.scope = Scope::kFabric;
  top.down_ports = spec.segments_per_fabric_pod;
  top.down_gbps = tor.up_gbps;
  spec.tiers = {tor, top};
  const auto places = std::make_shared<const Places>(PlacesOf(spec));
  EXPECT_EQ(MessageOf(Network::Build(spec, places).status()),
            "Fabric wide: spec.host: 2200 hosts of 1000000 NICs with 1 ports each have more than "
            "50000000 ports; correct rails and nicPorts, or the labels of the Nodes");
}

}  // namespace
}  // namespace yardmaster::fabric
