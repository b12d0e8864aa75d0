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
          {"striped core", StripedCore(2, 2, 3)},
          {"rail groups", RailGroups(2, 2, 3)}};
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

TEST(NetworkTest, NeighbouringRailsThatShareASwitchMeetThere) {
  const Network net = Built(RailGroups(1, 2, 3));
  EXPECT_EQ(net.num_switches(), 2 * 2 * 4 + 2 * 2 * 4);  // per plane: 4 ToRs a segment, 2 x 4 Aggs
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) {
      const NicPort from{HostId(0), a, 1};
      const NicPort to{HostId(2), b, 1};
      EXPECT_EQ(net.tor(from) == net.tor(to), a / 2 == b / 2) << a << " and " << b;
      const SwitchId agg = net.upper(net.tor(from), 3);
      EXPECT_EQ(net.reaches_down(agg, to), a / 4 == b / 4) << a << " and " << b;
    }
  }
  EXPECT_EQ(net.name(net.tor({HostId(0), 3, 1})), "p0/p0s0/tor-r2-p1");
  EXPECT_EQ(net.name(net.upper(net.tor({HostId(0), 7, 0}), 2)), "p0/agg-r4-p0-2");
  // Each Agg has one cable from each of its rails' ToRs, in the order of segments and rails.
  std::map<SwitchId, std::vector<SwitchId>> below;
  for (int s = 0; s < net.num_switches(); ++s) {
    for (int u = 0; u < net.num_up_ports(SwitchId(s)); ++u) {
      below[net.upper(SwitchId(s), u)].emplace_back(s);
    }
  }
  ASSERT_EQ(below.size(), 16u);
  for (const auto& [agg, tors] : below) {
    ASSERT_EQ(tors.size(), 4u);
    for (const SwitchId tor : tors) {
      EXPECT_EQ(net.place_of(tor).rail / 4, net.place_of(agg).rail / 4);
    }
  }
}

TEST(NetworkTest, HostsNeedAPortOfATorForEachOfItsRails) {
  FabricSpec spec = RailGroups(1, 1, 4);
  spec.hosts_per_segment = 1;
  spec.backup.hosts_per_segment = 0;
  spec.tiers[0].down_ports = 7;
  FabricSpec built = spec;
  built.hosts_per_segment = 4;
  const auto network = Network::Build(spec, std::make_shared<const Places>(PlacesOf(built)));
  EXPECT_NE(network.status().message().find("spec.tiers[0].downPorts"), std::string::npos)
      << network.status();
}

TEST(NetworkTest, SwitchesAreShownAndFoundAsTheirOperatorsCallThem) {
  FabricSpec spec = SmallHpn(2, 1, 2);
  spec.switch_names = {{"p0/p0s0/tor-r2-p1", "leaf-a3"}, {"core-p0-3", "spine-3"}};
  const Network net = Built(spec);
  const SwitchId leaf = net.FindSwitch("leaf-a3");
  ASSERT_TRUE(leaf.valid());
  EXPECT_EQ(net.name(leaf), "p0/p0s0/tor-r2-p1");
  EXPECT_EQ(net.shown(leaf), "leaf-a3");
  EXPECT_EQ(net.FindSwitch(net.name(leaf)), leaf);
  const LinkId link = Network::down(net.up_cable(leaf, 3));
  EXPECT_EQ(net.shown(link), "leaf-a3:u3.down");
  EXPECT_EQ(net.FindCable("leaf-a3:u3.down"), Network::cable_of(link));
  EXPECT_EQ(net.shown(net.host_cable({HostId(0), 2, 1})), "p0s0h000:r2p1");
  EXPECT_EQ(net.shown(net.tor({HostId(0), 0, 0})), "p0/p0s0/tor-r0-p0");
}

TEST(NetworkTest, CablesOfSwitchesThatAPlaceDoesNotHaveAreDown) {
  FabricSpec spec = SmallHpn(2, 2, 3);
  spec.switch_names = {{"p1/agg-p1-2", "spine-b2"}};
  spec.absent_switches = {"p1/agg-p1-2", "p0/p0s1/tor-r3-p0", "p7/agg-p0-0"};  // p7 has no Node
  const Network net = Built(spec);
  std::vector<std::uint8_t> down;
  net.MarkAbsent(down);
  ASSERT_EQ(down.size(), static_cast<std::size_t>(net.num_cables()));
  for (int c = 0; c < net.num_cables(); ++c) {
    const CableId cable(c);
    EXPECT_EQ(down[cable.index()] == 0, net.exists(cable));
    const std::string upper = net.name(net.far_end(Network::up(cable)));
    const std::string lower =
        net.is_host_cable(cable) ? "" : net.name(net.switch_port_of(cable).id);
    const auto gone = [](const std::string& name) {
      return name == "p1/agg-p1-2" || name == "p0/p0s1/tor-r3-p0";
    };
    EXPECT_EQ(net.exists(cable), !gone(upper) && !gone(lower)) << net.name(cable);
  }
  spec.absent_switches.clear();
  down.clear();
  Built(spec).MarkAbsent(down);
  EXPECT_TRUE(down.empty());
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
