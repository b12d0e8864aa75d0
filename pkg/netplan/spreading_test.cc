#include "pkg/netplan/spreading.h"

#include <algorithm>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/netplan/routes.h"

namespace yardmaster::netplan {
namespace {

using fabric::HostId;
using fabric::LinkId;
using fabric::Network;
using fabric::NicPort;
using fabric::SwitchId;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using Down = std::vector<std::uint8_t>;
using Loads = std::map<LinkId, double>;

constexpr double kExact = 1e-12;

// Small fabrics of every shape, with planes, stripes, parallel links and one port per plane or two.
std::vector<fabric::FabricSpec> Fabrics() {
  fabric::FabricSpec parallel = fabric::SmallHpn(1, 2, 2);
  parallel.tiers[1].switches = 2;
  parallel.tiers[1].down_ports *= 2;
  return {fabric::SmallHpn(1, 3, 4),
          fabric::SmallHpn(2, 2, 3),
          fabric::SinglePlaneHpn(1, 3, 3),
          fabric::SinglePlaneHpn(2, 2, 2),
          fabric::FatTree(4),
          fabric::StripedCore(2, 2, 2),
          parallel};
}

void LetNicsSpray(fabric::FabricSpec& spec) { spec.nic_spraying = true; }
void LetSwitchesSpray(fabric::FabricSpec& spec) {
  for (fabric::Tier& tier : spec.tiers) tier.spraying = true;
}

Network Built(const fabric::FabricSpec& spec) {
  return Network::Build(spec, std::make_shared<const fabric::Places>(fabric::PlacesOf(spec)))
      .value();
}

Down AllUp(const Network& network) {
  return Down(static_cast<std::size_t>(network.num_cables()), 0);
}

Down SomeDown(const Network& network, int count, Random& random) {
  Down down = AllUp(network);
  for (int i = 0; i < count; ++i) down[random.Below(down.size())] = 1;
  return down;
}

bool Leads(const Network& network, LinkId link, const NicPort& to, const Down& down) {
  if (down[Network::cable_of(link).index()] != 0) return false;
  const SwitchId at = network.far_end(link);
  if (at == network.tor(to)) return true;
  if (network.tier_of(at) == 0) return false;
  const std::vector<LinkId> next = network.next_hops(at, to);
  return std::any_of(next.begin(), next.end(),
                     [&](LinkId onward) { return Leads(network, onward, to, down); });
}

// What all packets of a flow put on links, if each switch takes any of the links that lead on with
// the same probability: the average over all that hashes might choose.
void AddAverage(const Network& network, SwitchId at, const NicPort& to, const Down& down,
                double weight, Loads& loads) {
  if (at == network.tor(to)) return;
  std::vector<LinkId> ways = network.next_hops(at, to);
  std::erase_if(ways, [&](LinkId link) { return !Leads(network, link, to, down); });
  for (const LinkId link : ways) {
    const double part = weight / static_cast<double>(ways.size());
    loads[link] += part;
    AddAverage(network, network.far_end(link), to, down, part, loads);
  }
}

void AddParts(const Spreading& spreading, const std::vector<Spreading::Part>& parts, Loads& loads) {
  for (const Spreading::Part& part : parts) {
    const Spreading::Bundle& bundle = spreading.bundle(part.bundle);
    for (const LinkId link : bundle.links) {
      loads[link] += part.share / static_cast<double>(bundle.links.size());
    }
  }
}

void ExpectSame(const Loads& loads, const Loads& wanted, const Network& network) {
  for (const auto& [link, load] : wanted) {
    const auto at = loads.find(link);
    ASSERT_NE(at, loads.end()) << network.name(link);
    ASSERT_NEAR(at->second, load, kExact) << network.name(link);
  }
  for (const auto& [link, load] : loads) {
    if (wanted.count(link) == 0) {
      ASSERT_NEAR(load, 0, kExact) << network.name(link);
    }
  }
}

// Two NICs of different hosts that may meet.
std::pair<NicPort, NicPort> AnyPair(const Network& network, Random& random) {
  const auto hosts = static_cast<std::uint64_t>(network.places().num_hosts());
  const auto rails = static_cast<std::uint64_t>(network.spec().rails);
  NicPort from{HostId(static_cast<std::int32_t>(random.Below(hosts))),
               static_cast<int>(random.Below(rails)), 0};
  NicPort to = from;
  while (to.host == from.host) to.host = HostId(static_cast<std::int32_t>(random.Below(hosts)));
  if (!network.spec().tiers.back().per_rail) to.rail = static_cast<int>(random.Below(rails));
  return {from, to};
}

// As BetweenNics, by the average over all choices of NIC port and link.
Loads AverageBetweenNics(const Network& network, const NicPort& from, const NicPort& to,
                         const Down& down) {
  const Routes nics(network, down);
  std::vector<std::pair<NicPort, NicPort>> ports;
  for (int p = 0; p < network.spec().nic_ports; ++p) {
    const NicPort out{from.host, from.rail, p};
    NicPort in;
    if (!nics.Usable(out) || !nics.Arrival({to.host, to.rail, p}, in)) continue;
    Loads inside;
    AddAverage(network, network.tor(out), in, down, 1, inside);
    if (network.tor(out) != network.tor(in) && inside.empty()) continue;
    ports.emplace_back(out, in);
  }
  Loads loads;
  for (const auto& [out, in] : ports) {
    const double weight = 1 / static_cast<double>(ports.size());
    loads[Network::up(network.host_cable(out))] += weight;
    loads[Network::down(network.host_cable(in))] += weight;
    AddAverage(network, network.tor(out), in, down, weight, loads);
  }
  return loads;
}

TEST(SpreadingTest, NothingIsNeededWhereNothingSprays) {
  for (fabric::FabricSpec spec : Fabrics()) {
    EXPECT_FALSE(Spreading::Needed(spec));
    spec.tiers.back().spraying = true;
    EXPECT_TRUE(Spreading::Needed(spec));
    spec.tiers.back().spraying = false;
    LetNicsSpray(spec);
    EXPECT_TRUE(Spreading::Needed(spec));
  }
}

TEST(SpreadingTest, SprayingSwitchesLoadLinksAsTheAverageOverAllHashesDoes) {
  Random random(1);
  for (fabric::FabricSpec spec : Fabrics()) {
    LetSwitchesSpray(spec);
    const Network network = Built(spec);
    for (int round = 0; round < 20; ++round) {
      // No more in a plane than there are classes for.
      const Down down = SomeDown(network, round % 5 * 2, random);
      Spreading spreading(network, down);
      for (int pair = 0; pair < 20; ++pair) {
        auto [from, to] = AnyPair(network, random);
        from.port = to.port =
            static_cast<int>(random.Below(static_cast<std::uint64_t>(spec.nic_ports)));
        const Spreading::Ways& ways = spreading.Between(from, to);
        EXPECT_FALSE(ways.hashed);
        Loads wanted;
        AddAverage(network, network.tor(from), to, down, 1, wanted);
        const bool near = network.tor(from) == network.tor(to);
        ASSERT_EQ(ways.routes.size(), near || !wanted.empty() ? 1u : 0u);
        if (ways.routes.empty()) continue;
        Loads loads;
        AddParts(spreading, ways.parts[0], loads);
        ExpectSame(loads, wanted, network);
        if (HasFatalFailure()) FAIL() << spec.name << ", round " << round;
      }
    }
  }
}

TEST(SpreadingTest, SprayingNicsLoadLinksAsTheAverageOverAllPortsAndHashesDoes) {
  Random random(2);
  for (fabric::FabricSpec spec : Fabrics()) {
    LetNicsSpray(spec);
    const Network network = Built(spec);
    for (int round = 0; round < 20; ++round) {
      const Down down = SomeDown(network, round % 5 * 2, random);
      Spreading spreading(network, down);
      for (int pair = 0; pair < 20; ++pair) {
        const auto [from, to] = AnyPair(network, random);
        Loads loads;
        AddParts(spreading, spreading.BetweenNics(from, to), loads);
        ExpectSame(loads, AverageBetweenNics(network, from, to, down), network);
        if (HasFatalFailure()) FAIL() << spec.name << ", round " << round;
      }
    }
  }
}

TEST(SpreadingTest, TheRoutesOfHashedUplinksHaveTheSameAverage) {
  for (const fabric::FabricSpec& hashed : {fabric::SmallHpn(1, 3, 4), fabric::FatTree(4)}) {
    fabric::FabricSpec spec = hashed;
    LetSwitchesSpray(spec);
    const Network network = Built(spec);
    Random random(3);
    const Down down = SomeDown(network, 3, random);
    Spreading spreading(network, down);
    Routes routes(network, down);
    for (int pair = 0; pair < 50; ++pair) {
      const auto [from, to] = AnyPair(network, random);
      // Where only the ToR chooses.
      if (network.places().fabric_pod_of(from.host) != network.places().fabric_pod_of(to.host)) {
        continue;
      }
      const std::vector<Route>& all = routes.Between(from, to);
      Loads wanted;
      for (const Route& route : all) {
        for (const LinkId link : route) wanted[link] += 1 / static_cast<double>(all.size());
      }
      const Spreading::Ways& ways = spreading.Between(from, to);
      ASSERT_EQ(ways.routes.empty(), all.empty());
      if (all.empty()) continue;
      Loads loads;
      AddParts(spreading, ways.parts[0], loads);
      ExpectSame(loads, wanted, network);
    }
  }
}

TEST(SpreadingTest, EveryCutBetweenTwoNicsCarriesTheWholeFlow) {
  Random random(4);
  for (fabric::FabricSpec spec : Fabrics()) {
    LetNicsSpray(spec);
    const Network network = Built(spec);
    // More damage than there are classes for: what is spread is still all of it.
    for (const int lost : {0, 3, network.num_cables() / 10}) {
      const Down down = SomeDown(network, lost, random);
      Spreading spreading(network, down);
      for (int pair = 0; pair < 40; ++pair) {
        const auto [from, to] = AnyPair(network, random);
        const std::vector<Spreading::Part> parts = spreading.BetweenNics(from, to);
        if (parts.empty()) continue;
        // By tier below and direction: what leaves the source climbs, what arrives descends.
        std::map<std::pair<int, bool>, double> cut;
        for (const Spreading::Part& part : parts) {
          EXPECT_GT(part.share, 0);
          const LinkId link = spreading.bundle(part.bundle).links.front();
          const fabric::CableId cable = Network::cable_of(link);
          const int tier =
              network.is_host_cable(cable) ? -1 : network.tier_of(network.switch_port_of(cable).id);
          cut[{tier, Network::is_down(link)}] += part.share;
          for (const LinkId of : spreading.bundle(part.bundle).links) {
            EXPECT_EQ(down[Network::cable_of(of).index()], 0) << network.name(of);
          }
        }
        EXPECT_NEAR((cut[{-1, false}]), 1, kExact);
        EXPECT_NEAR((cut[{-1, true}]), 1, kExact);
        for (const auto& [at, share] : cut) {
          EXPECT_NEAR(share, (cut[{at.first, !at.second}]), kExact) << "as much up as down";
          EXPECT_LE(share, 1 + kExact);
        }
      }
    }
  }
}

TEST(SpreadingTest, WholePlanesAreOneBundleAndALostPlaneCarriesNothing) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 2);
  spec.planes = spec.nic_ports = 8;
  LetNicsSpray(spec);
  const Network network = Built(spec);
  Down down = AllUp(network);
  const NicPort from{HostId(0), 3, 0};
  const NicPort to{HostId(2), 3, 0};
  {
    Spreading spreading(network, down);
    const std::vector<Spreading::Part> parts = spreading.BetweenNics(from, to);
    ASSERT_THAT(parts, SizeIs(4)) << "out, up, down, in";
    for (const Spreading::Part& part : parts) EXPECT_EQ(part.share, 1);
    std::vector<std::size_t> links;
    for (const Spreading::Part& part : parts) {
      links.push_back(spreading.bundle(part.bundle).links.size());
    }
    EXPECT_THAT(links, UnorderedElementsAre(8, 8, 8 * 4, 8 * 4));
  }
  down[network.host_cable({HostId(0), 3, 5}).index()] = 1;
  Spreading spreading(network, down);
  Loads loads;
  AddParts(spreading, spreading.BetweenNics(from, to), loads);
  std::map<int, double> of_plane;
  for (const auto& [link, load] : loads) {
    const fabric::CableId cable = Network::cable_of(link);
    if (network.is_host_cable(cable)) continue;
    of_plane[network.place_of(network.switch_port_of(cable).id).plane] += load;
  }
  EXPECT_THAT(of_plane, SizeIs(7));
  EXPECT_EQ(of_plane.count(5), 0u);
  for (const auto& [plane, load] : of_plane) EXPECT_NEAR(load, 2.0 / 7, kExact);
}

TEST(SpreadingTest, AFlowOverManySwitchesIsFewEntries) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 4, 4);
  spec.tiers[0].up_ports = spec.tiers[1].switches = 64;
  LetNicsSpray(spec);
  const Network network = Built(spec);
  Down down = AllUp(network);
  // One uplink in each of ten Agg switches of plane 0.
  for (int u = 0; u < 10; ++u) {
    down[network.up_cable(network.tor({HostId(u), u % 8, 0}), u).index()] = 1;
  }
  Spreading spreading(network, down);
  EXPECT_LE(spreading.BetweenNics({HostId(0), 0, 0}, {HostId(5), 0, 0}).size(), 4u + 2 + 2 * 11);
  for (int u = 0; u < 64; ++u) {
    down[network.up_cable(network.tor({HostId(u % 16), u % 8, 0}), u).index()] = 1;
  }
  Spreading damaged(network, down);
  EXPECT_LE(damaged.BetweenNics({HostId(0), 0, 0}, {HostId(5), 0, 0}).size(),
            4u + 2 + 2 * (Spreading::kMostDamaged + 1));
}

// What the way puts on links; from the source's ToR all of the flow leaves.
Loads LoadsOf(const Network& network, const Spreading& spreading, SwitchId tor,
              const std::vector<Spreading::Part>& parts) {
  Loads loads;
  double leaves = 0;
  for (const Spreading::Part& part : parts) {
    const Spreading::Bundle& bundle = spreading.bundle(part.bundle);
    EXPECT_THAT(bundle.links, SizeIs(1));
    const LinkId link = bundle.links.front();
    const bool up = !Network::is_down(link);
    if (up && network.switch_port_of(Network::cable_of(link)).id == tor) leaves += part.share;
    loads[link] += part.share;
  }
  EXPECT_NEAR(leaves, 1, kExact);
  return loads;
}

TEST(SpreadingTest, EachChoiceOfAHashIsAWayAndTheirAverageIsThatOfAll) {
  Random random(5);
  for (const std::size_t hashes : {std::size_t{0}, std::size_t{1}}) {
    for (fabric::FabricSpec spec : {fabric::SmallHpn(2, 2, 2), fabric::FatTree(4)}) {
      LetSwitchesSpray(spec);
      spec.tiers[hashes].spraying = false;
      const Network network = Built(spec);
      const Down down = AllUp(network);
      Spreading spreading(network, down);
      for (int pair = 0; pair < 40; ++pair) {
        const auto [from, to] = AnyPair(network, random);
        const SwitchId tor = network.tor(from);
        if (tor == network.tor(to)) continue;
        const bool apart =
            network.places().fabric_pod_of(from.host) != network.places().fabric_pod_of(to.host);
        const Spreading::Ways& ways = spreading.Between(from, to);
        EXPECT_EQ(ways.hashed, apart || hashes == 0) << "in a pod an Agg has one way";
        const std::set<Route> distinct(ways.routes.begin(), ways.routes.end());
        EXPECT_EQ(distinct.size(), ways.routes.size());
        ASSERT_EQ(ways.routes.size(), ways.parts.size());
        Loads mean;
        for (std::size_t w = 0; w < ways.routes.size(); ++w) {
          const Loads loads = LoadsOf(network, spreading, tor, ways.parts[w]);
          for (const LinkId link : ways.routes[w]) EXPECT_EQ(loads.count(link), 1u);
          for (const auto& [link, load] : loads) {
            mean[link] += load / static_cast<double>(ways.routes.size());
          }
        }
        Loads wanted;
        AddAverage(network, tor, to, down, 1, wanted);
        ExpectSame(mean, wanted, network);
      }
    }
  }
}

TEST(SpreadingTest, WaysAvoidLostCables) {
  Random random(6);
  for (fabric::FabricSpec spec : {fabric::SmallHpn(2, 2, 2), fabric::FatTree(4)}) {
    spec.tiers[0].spraying = true;
    const Network network = Built(spec);
    for (int round = 0; round < 20; ++round) {
      const Down down = SomeDown(network, 4, random);
      Spreading spreading(network, down);
      const auto [from, to] = AnyPair(network, random);
      if (network.tor(from) == network.tor(to)) continue;
      const Spreading::Ways& ways = spreading.Between(from, to);
      for (const std::vector<Spreading::Part>& parts : ways.parts) {
        for (const auto& [link, load] : LoadsOf(network, spreading, network.tor(from), parts)) {
          EXPECT_EQ(down[Network::cable_of(link).index()], 0) << network.name(link);
        }
      }
    }
  }
}

}  // namespace
}  // namespace yardmaster::netplan
