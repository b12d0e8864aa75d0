#include "pkg/repac/path.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "pkg/base/random.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/repac/testing/networks.h"

namespace yardmaster::repac {
namespace {

using fabric::HostId;
using fabric::Network;

fabric::FabricSpec Hashed(fabric::FabricSpec spec) {
  SetHashes(spec);
  return spec;
}

std::vector<fabric::FabricSpec> AllFabrics() {
  return {HpnPod(3, 4),
          Hashed(fabric::SmallHpn(2, 2, 3)),
          Hashed(fabric::SinglePlaneHpn(1, 3, 3)),
          Hashed(fabric::SinglePlaneHpn(2, 2, 2)),
          Hashed(fabric::FatTree(4)),
          Hashed(fabric::FatTree(8)),
          Hashed(fabric::StripedCore(3, 2, 2))};
}

std::pair<NicPort, NicPort> RandomEnds(const Network& network, Random& random) {
  const auto hosts = static_cast<std::uint64_t>(network.places().num_hosts());
  const auto rails = static_cast<std::uint64_t>(network.spec().rails);
  const auto ports = static_cast<std::uint64_t>(network.spec().nic_ports);
  NicPort src{HostId(static_cast<int>(random.Below(hosts))), static_cast<int>(random.Below(rails)),
              static_cast<int>(random.Below(ports))};
  NicPort dst = src;
  while (dst.host == src.host) dst.host = HostId(static_cast<int>(random.Below(hosts)));
  return {src, dst};
}

std::uint16_t RandomPort(Random& random) {
  return static_cast<std::uint16_t>(kFirstSourcePort + random.Below(16383));
}

// Each link starts where the one before it ended, up first and then down, and the last ends at the
// destination's NIC.
void ExpectConnected(const Network& network, const PredictedPath& path, const NicPort& src,
                     const NicPort& dst) {
  ASSERT_FALSE(path.links.empty());
  EXPECT_EQ(path.links[0], Network::up(network.host_cable(src)));
  SwitchId at = network.tor(src);
  for (std::size_t i = 1; i < path.links.size(); ++i) {
    const LinkId link = path.links[i];
    const CableId cable = Network::cable_of(link);
    const SwitchId from =
        Network::is_down(link)
            ? (network.is_host_cable(cable) ? network.tor(network.nic_port_of(cable))
                                            : network.upper(network.switch_port_of(cable).id,
                                                            network.switch_port_of(cable).up_port))
            : network.switch_port_of(cable).id;
    EXPECT_EQ(from, at);
    at = network.far_end(link);
  }
  EXPECT_FALSE(at.valid());
  const NicPort end = network.nic_port_of(Network::cable_of(path.links.back()));
  EXPECT_EQ(end.host, dst.host);
  EXPECT_EQ(end.rail, dst.rail);
  EXPECT_EQ(network.plane_of(end), network.plane_of(src));
}

TEST(PredictPathTest, EndsAtTheDestinationInEveryFabric) {
  Random random(1);
  for (const fabric::FabricSpec& spec : AllFabrics()) {
    const HashedNetwork net(spec);
    const ForwardingModel forwarding = net.Forwarding();
    for (int i = 0; i < 200; ++i) {
      const auto [src, dst] = RandomEnds(*net.network, random);
      const auto path = PredictPath(forwarding, src, dst, RandomPort(random));
      ASSERT_TRUE(path.ok()) << path.status();
      ASSERT_TRUE(path->predictable) << path->reason;
      ExpectConnected(*net.network, *path, src, dst);
    }
  }
}

TEST(PredictPathTest, TheUplinkIsTheHashModuloTheMembers) {
  const HashedNetwork net(HpnPod(2, 2));
  const ForwardingModel forwarding = net.Forwarding();
  const NicPort src{HostId(0), 3, 1};
  const NicPort dst{HostId(2), 3, 1};
  const HashModel model = *HashModel::Compile(net.network->spec().ecmp_hash.at("tor"));
  for (std::uint16_t port : {0xC001, 0xC002, 0xD000, 0xFFFF}) {
    const auto path = PredictPath(forwarding, src, dst, port);
    ASSERT_TRUE(path.ok());
    ASSERT_EQ(path->hops.size(), 3u);
    const std::uint64_t hash = model.Hash(forwarding.PacketOf(src, dst, port));
    EXPECT_EQ(path->plane, 1);
    EXPECT_EQ(path->hops[0].members, 60);
    EXPECT_EQ(path->hops[0].hash, hash);
    EXPECT_EQ(path->hops[0].index, static_cast<int>(hash % 60));
    EXPECT_EQ(path->hops[0].link, Network::up(net.network->up_cable(net.network->tor(src),
                                                                    static_cast<int>(hash % 60))));
    EXPECT_EQ(path->hops[1].members, 1);
    EXPECT_EQ(path->links.size(), 4u);
  }
}

TEST(PredictPathTest, OneSwitchJoinsNicsOfOneRailAndSegment) {
  const HashedNetwork net(HpnPod(2, 3));
  const auto path = PredictPath(net.Forwarding(), {HostId(0), 1, 0}, {HostId(2), 1, 0}, 0xC001);
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(path->hops.size(), 1u);
}

TEST(PredictPathTest, PlanesDoNotMeet) {
  const HashedNetwork net(HpnPod(2, 2));
  const auto path = PredictPath(net.Forwarding(), {HostId(0), 0, 0}, {HostId(2), 0, 1}, 0xC001);
  EXPECT_EQ(path.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PredictPathTest, StopsAtTheFirstSwitchThatCannotBeTold) {
  fabric::FabricSpec spec = Hashed(fabric::FatTree(4));
  spec.ecmp_hash["agg"] = fabric::HashSpec();
  spec.ecmp_hash["agg"].reason = "firmware unknown";
  const HashedNetwork net(spec);
  // Hosts of two fabric pods: edge, agg and core choose.
  const auto path = PredictPath(net.Forwarding(), {HostId(0), 0, 0}, {HostId(15), 0, 0}, 0xC001);
  ASSERT_TRUE(path.ok());
  EXPECT_FALSE(path->predictable);
  EXPECT_EQ(path->hops.size(), 1u);
  EXPECT_NE(path->reason.find("firmware unknown"), std::string::npos) << path->reason;
  // Inside one edge switch nothing is chosen, so nothing need be known.
  const auto near = PredictPath(net.Forwarding(), {HostId(0), 0, 0}, {HostId(1), 0, 0}, 0xC001);
  ASSERT_TRUE(near.ok());
  EXPECT_TRUE(near->predictable);
}

TEST(PredictPathTest, ALostUplinkShrinksTheGroupOfItsToR) {
  const HashedNetwork net(HpnPod(2, 2));
  const NicPort src{HostId(0), 0, 0};
  const NicPort dst{HostId(2), 0, 0};
  const CableId lost = net.network->up_cable(net.network->tor(src), 10);
  const ForwardingModel forwarding = net.Forwarding({lost});
  const auto path = PredictPath(forwarding, src, dst, 0xC123);
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(path->hops[0].members, 59);
  const std::uint64_t index = *path->hops[0].hash % 59;
  const int uplink = static_cast<int>(index) + (index >= 10 ? 1 : 0);
  EXPECT_EQ(path->hops[0].link, Network::up(net.network->up_cable(net.network->tor(src), uplink)));
  // The other plane, and the other rails, have lost nothing.
  EXPECT_EQ(PredictPath(forwarding, {HostId(0), 0, 1}, {HostId(2), 0, 1}, 0xC123)->hops[0].members,
            60);
  EXPECT_EQ(PredictPath(forwarding, {HostId(0), 1, 0}, {HostId(2), 1, 0}, 0xC123)->hops[0].members,
            60);
}

TEST(PredictPathTest, OthersStopUsingAnAggThatLostTheDestinationsToR) {
  const HashedNetwork net(HpnPod(3, 2));
  const NicPort src{HostId(0), 0, 0};
  const NicPort dst{HostId(2), 0, 0};
  const ForwardingModel forwarding =
      net.Forwarding({net.network->up_cable(net.network->tor(dst), 7)});
  EXPECT_EQ(PredictPath(forwarding, src, dst, 0xC001)->hops[0].members, 59);
  EXPECT_EQ(PredictPath(forwarding, src, {HostId(4), 0, 0}, 0xC001)->hops[0].members, 60);
  Random random(2);
  for (int i = 0; i < 300; ++i) {
    const auto path = PredictPath(forwarding, src, dst, RandomPort(random));
    ASSERT_TRUE(path.ok());
    ExpectConnected(*net.network, *path, src, dst);
  }
}

TEST(PredictPathTest, ALostNicPortLosesThePlaneInBothDirections) {
  const HashedNetwork net(HpnPod(2, 2));
  const NicPort lost{HostId(0), 0, 0};
  const NicPort peer{HostId(2), 0, 0};
  const ForwardingModel forwarding = net.Forwarding({net.network->host_cable(lost)});
  EXPECT_EQ(PredictPath(forwarding, lost, peer, 0xC001).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(PredictPath(forwarding, peer, lost, 0xC001).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(PredictPath(forwarding, {HostId(0), 0, 1}, {HostId(2), 0, 1}, 0xC001).ok());
  EXPECT_TRUE(PredictPath(forwarding, {HostId(1), 0, 0}, peer, 0xC001).ok());
}

TEST(PredictPathTest, WithOnePlaneTheOtherToRDelivers) {
  const HashedNetwork net(Hashed(fabric::SinglePlaneHpn(1, 2, 2)));
  const NicPort lost{HostId(2), 0, 0};
  const ForwardingModel forwarding = net.Forwarding({net.network->host_cable(lost)});
  Random random(3);
  for (HostId from : {HostId(0), HostId(3)}) {  // another segment, and a neighbour in its own
    for (int port : {0, 1}) {
      for (int i = 0; i < 50; ++i) {
        const NicPort src{from, 0, port};
        const auto path = PredictPath(forwarding, src, {HostId(2), 0, 0}, RandomPort(random));
        ASSERT_TRUE(path.ok()) << path.status();
        ExpectConnected(*net.network, *path, src, {HostId(2), 0, 0});
        EXPECT_EQ(net.network->nic_port_of(Network::cable_of(path->links.back())).port, 1);
      }
    }
  }
}

TEST(PredictPathTest, RandomFailuresNeverLeadIntoADeadLink) {
  Random random(4);
  for (const fabric::FabricSpec& spec : AllFabrics()) {
    const HashedNetwork net(spec);
    for (int round = 0; round < 10; ++round) {
      std::vector<CableId> down;
      for (int i = 0; i < net.network->num_cables() / 8; ++i) {
        down.push_back(CableId(
            static_cast<int>(random.Below(static_cast<std::uint64_t>(net.network->num_cables())))));
      }
      const ForwardingModel forwarding = net.Forwarding(down);
      for (int i = 0; i < 50; ++i) {
        const auto [src, dst] = RandomEnds(*net.network, random);
        const auto path = PredictPath(forwarding, src, dst, RandomPort(random));
        if (!path.ok()) {
          EXPECT_EQ(path.status().code(), absl::StatusCode::kNotFound) << path.status();
          continue;
        }
        ExpectConnected(*net.network, *path, src, dst);
        for (LinkId link : path->links) EXPECT_FALSE(forwarding.is_down(Network::cable_of(link)));
      }
    }
  }
}

TEST(TargetsOfTest, EveryPredictedPathCanBeAskedFor) {
  Random random(5);
  for (const fabric::FabricSpec& spec : AllFabrics()) {
    const HashedNetwork net(spec);
    const ForwardingModel forwarding = net.Forwarding();
    for (int i = 0; i < 20; ++i) {
      const auto [src, dst] = RandomEnds(*net.network, random);
      const auto path = PredictPath(forwarding, src, dst, RandomPort(random));
      ASSERT_TRUE(path.ok());
      const auto targets =
          TargetsOf(forwarding, src, dst, {path->links.begin() + 1, path->links.end()});
      ASSERT_TRUE(targets.ok()) << targets.status();
      const auto port = FindPort(*targets, {}, RandomPort(random));
      ASSERT_TRUE(port.ok()) << port.status();
      EXPECT_EQ(PredictPath(forwarding, src, dst, *port)->links, path->links);
    }
  }
}

TEST(TargetsOfTest, RefusesAPathThatLeadsElsewhere) {
  const HashedNetwork net(HpnPod(3, 2));
  const ForwardingModel forwarding = net.Forwarding();
  const NicPort src{HostId(0), 0, 0};
  const auto elsewhere = PredictPath(forwarding, src, {HostId(2), 0, 0}, 0xC001);
  const auto targets = TargetsOf(forwarding, src, {HostId(4), 0, 0},
                                 {elsewhere->links.begin() + 1, elsewhere->links.end()});
  EXPECT_EQ(targets.status().code(), absl::StatusCode::kNotFound);
}

TEST(GroupTest, UnorderedMembersAreNotTold) {
  fabric::FabricSpec spec = HpnPod(2, 2);
  spec.ecmp_hash["tor"].group.ordered = false;
  const HashedNetwork net(spec);
  const auto path = PredictPath(net.Forwarding(), {HostId(0), 0, 0}, {HostId(2), 0, 0}, 0xC001);
  ASSERT_TRUE(path.ok());
  EXPECT_FALSE(path->predictable);
  EXPECT_NE(path->reason.find("order"), std::string::npos);
}

TEST(GroupTest, WeightsRepeatMembersInPlace) {
  fabric::FabricSpec spec = HpnPod(2, 2);
  spec.ecmp_hash["tor"].group.weights.assign(60, 1);
  spec.ecmp_hash["tor"].group.weights[1] = 3;
  const HashedNetwork net(spec);
  const ForwardingModel forwarding = net.Forwarding();
  const SwitchId tor = net.network->tor({HostId(0), 0, 0});
  const Group& group = forwarding.group(tor, false, {HostId(2), 0, 0});
  ASSERT_EQ(group.slots.size(), 62u);
  for (int slot : {1, 2, 3}) {
    EXPECT_EQ(group.slots[static_cast<std::size_t>(slot)],
              Network::up(net.network->up_cable(tor, 1)));
  }
  EXPECT_EQ(group.slots[4], Network::up(net.network->up_cable(tor, 2)));
}

TEST(GroupTest, ResilientTablesAreTrustedOnlyAsFarAsTheyAreKnown) {
  fabric::FabricSpec spec = HpnPod(2, 2);
  spec.ecmp_hash["tor"].group.resilient_buckets = 128;
  const NicPort src{HostId(0), 0, 0};
  const NicPort dst{HostId(2), 0, 0};
  const HashedNetwork net(spec);
  const auto healthy = PredictPath(net.Forwarding(), src, dst, 0xC001);
  EXPECT_TRUE(healthy->predictable);
  EXPECT_EQ(healthy->hops[0].members, 128);
  const CableId lost = net.network->up_cable(net.network->tor(src), 0);
  EXPECT_FALSE(PredictPath(net.Forwarding({lost}), src, dst, 0xC001)->predictable);
  spec.ecmp_hash["tor"].group.resilient_table.assign(128, 5);
  const HashedNetwork known(spec);
  const auto path = PredictPath(known.Forwarding({lost}), src, dst, 0xC001);
  ASSERT_TRUE(path->predictable) << path->reason;
  EXPECT_EQ(path->hops[0].link, Network::up(known.network->up_cable(known.network->tor(src), 5)));
}

TEST(GroupTest, APresetPortIgnoresTheHeaderUntilItsLinkIsLost) {
  fabric::FabricSpec spec = Hashed(fabric::FatTree(4));
  spec.ecmp_hash["agg"].group.preset_by_ingress_port = true;
  const HashedNetwork net(spec);
  const ForwardingModel forwarding = net.Forwarding();
  const NicPort src{HostId(0), 0, 0};
  const NicPort dst{HostId(15), 0, 0};
  Random random(6);
  std::map<LinkId, std::set<LinkId>> out_by_in;
  for (int i = 0; i < 200; ++i) {
    const auto path = PredictPath(forwarding, src, dst, RandomPort(random));
    ASSERT_TRUE(path->predictable);
    out_by_in[path->links[1]].insert(path->links[2]);
  }
  EXPECT_EQ(out_by_in.size(), 2u);
  for (const auto& [in, out] : out_by_in) EXPECT_EQ(out.size(), 1u);
  const LinkId preset = *out_by_in.begin()->second.begin();
  const ForwardingModel broken = net.Forwarding({Network::cable_of(preset)});
  for (int i = 0; i < 100; ++i) {
    const auto path = PredictPath(broken, src, dst, RandomPort(random));
    ASSERT_TRUE(path.ok() && path->predictable);
    ExpectConnected(*net.network, *path, src, dst);
  }
}

TEST(GroupTest, ParallelLinksOfALagHaveAHashOfTheirOwn) {
  // Eight uplinks to four Agg: two to each.
  fabric::FabricSpec spec = Hashed(fabric::SmallHpn(1, 2, 2));
  spec.tiers[0].up_ports = 8;
  spec.tiers[1].down_ports *= 2;
  spec.ecmp_hash["tor"].lag =
      std::make_shared<const fabric::HashSpec>(Rtag7(fabric::Rtag7Function::kCrc16Bisync, 77));
  const HashedNetwork net(spec);
  const ForwardingModel forwarding = net.Forwarding();
  const NicPort src{HostId(0), 0, 0};
  const NicPort dst{HostId(2), 0, 0};
  std::set<LinkId> used;
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    const std::uint16_t port = RandomPort(random);
    const auto path = PredictPath(forwarding, src, dst, port);
    ASSERT_TRUE(path->predictable) << path->reason;
    EXPECT_EQ(path->hops[0].members, 4);
    used.insert(path->hops[0].link);
    const auto targets =
        TargetsOf(forwarding, src, dst, {path->links.begin() + 1, path->links.end()});
    ASSERT_TRUE(targets.ok());
    const auto again = FindPort(*targets, {port}, port);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(PredictPath(forwarding, src, dst, *again)->links, path->links);
  }
  EXPECT_EQ(used.size(), 8u);
}

TEST(SwitchHashesTest, ASwitchMayHaveItsOwnHash) {
  fabric::FabricSpec spec = HpnPod(2, 2);
  const NicPort src{HostId(0), 0, 0};
  const NicPort dst{HostId(2), 0, 0};
  const HashedNetwork before(spec);
  const std::string name = before.network->name(before.network->tor(src));
  spec.ecmp_hash_overrides[name] = Rtag7(fabric::Rtag7Function::kXor16, 5);
  const HashedNetwork after(spec);
  const HashModel own = *HashModel::Compile(spec.ecmp_hash_overrides[name]);
  const ForwardingModel forwarding = after.Forwarding();
  EXPECT_EQ(PredictPath(forwarding, src, dst, 0xC001)->hops[0].hash,
            own.Hash(forwarding.PacketOf(src, dst, 0xC001)));
  EXPECT_EQ(
      PredictPath(forwarding, {HostId(0), 1, 0}, {HostId(2), 1, 0}, 0xC001)->hops[0].hash,
      PredictPath(before.Forwarding(), {HostId(0), 1, 0}, {HostId(2), 1, 0}, 0xC001)->hops[0].hash);
  spec.ecmp_hash_overrides["nowhere"] = own.spec();
  const auto places = std::make_shared<const fabric::Places>(fabric::PlacesOf(spec));
  const auto network = Network::Build(spec, places);
  ASSERT_TRUE(network.ok());
  const std::string refused(SwitchHashes::Compile(*network).status().message());
  EXPECT_NE(refused.find("nowhere\"]: there is no such switch; use a switch id, for example " +
                         network->name(SwitchId(0))),
            std::string::npos)
      << refused;
}

TEST(SwitchHashesTest, AnOverrideByTheNameOfOperatorsIsRefusedWithTheId) {
  fabric::FabricSpec spec = HpnPod(2, 2);
  const std::string name = HashedNetwork(spec).network->name(SwitchId(3));
  spec.switch_names = {{name, "leaf"}};
  spec.ecmp_hash_overrides["leaf"] = Rtag7(fabric::Rtag7Function::kXor16, 5);
  const auto places = std::make_shared<const fabric::Places>(fabric::PlacesOf(spec));
  const auto network = Network::Build(spec, places);
  ASSERT_TRUE(network.ok());
  EXPECT_EQ(
      SwitchHashes::Compile(*network).status().message(),
      "spec.ecmpHashOverrides[\"leaf\"]: is what spec.switchNames calls " + name + "; use " + name);
}

TEST(PathTest, NothingIsPredictedForAHostWhoseAddressesNobodyStates) {
  fabric::FabricSpec spec = Hashed(fabric::SmallHpn(1, 2, 3));
  spec.addressing.base.clear();
  const HashedNetwork net(spec);
  const auto path =
      PredictPath(net.Forwarding(), {HostId(0), 0, 0}, {HostId(4), 0, 0}, kFirstSourcePort);
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_FALSE(path->predictable);
  EXPECT_NE(path->reason.find("Node p0s0h0"), std::string::npos) << path->reason;
  EXPECT_NE(path->reason.find("yardmaster.dev/nic-addresses"), std::string::npos) << path->reason;
}

}  // namespace
}  // namespace yardmaster::repac
