#include "pkg/netplan/routes.h"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::netplan {
namespace {

using fabric::HostId;
using fabric::LinkId;
using fabric::Network;
using fabric::NicPort;
using fabric::SwitchId;

using Down = std::vector<std::uint8_t>;

std::vector<fabric::FabricSpec> Fabrics() {
  return {
      fabric::SmallHpn(1, 3, 4),       fabric::SmallHpn(2, 2, 3), fabric::SinglePlaneHpn(1, 3, 3),
      fabric::SinglePlaneHpn(2, 2, 2), fabric::FatTree(4),        fabric::StripedCore(2, 2, 2)};
}

Network Built(const fabric::FabricSpec& spec) {
  return Network::Build(spec, std::make_shared<const fabric::Places>(fabric::PlacesOf(spec)))
      .value();
}

Down AllUp(const Network& network) {
  return Down(static_cast<std::size_t>(network.num_cables()), 0);
}

// Whether what takes `link` can come down to the ToR of `to`, never going up again.
bool Leads(const Network& network, LinkId link, const NicPort& to, const Down& down) {
  if (down[Network::cable_of(link).index()] != 0) return false;
  const SwitchId at = network.far_end(link);
  if (at == network.tor(to)) return true;
  if (network.tier_of(at) == 0) return false;
  if (Network::is_down(link) && !network.reaches_down(at, to)) return false;
  for (const LinkId next : network.next_hops(at, to)) {
    if (Leads(network, next, to, down)) return true;
  }
  return false;
}

// Leads from ToR to ToR over cables that are up, first up and then down.
void ExpectWhole(const Network& network, const Route& route, const NicPort& from, const NicPort& to,
                 const Down& down) {
  ASSERT_FALSE(route.empty());
  EXPECT_EQ(network.switch_port_of(Network::cable_of(route.front())).id, network.tor(from));
  EXPECT_FALSE(Network::is_down(route.front()));
  for (std::size_t i = 0; i < route.size(); ++i) {
    EXPECT_EQ(down[Network::cable_of(route[i]).index()], 0);
    if (i == 0) continue;
    const SwitchId at = network.far_end(route[i - 1]);
    const auto members = network.next_hops(at, to);
    EXPECT_EQ(std::count(members.begin(), members.end(), route[i]), 1);
    EXPECT_LE(Network::is_down(route[i - 1]), Network::is_down(route[i]));
  }
  EXPECT_EQ(network.far_end(route.back()), network.tor(to));
}

NicPort RandomPort(const Network& network, Random& random) {
  const auto below = [&](int n) {
    return static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
  };
  return {HostId(below(network.places().num_hosts())), below(network.spec().rails),
          below(network.spec().nic_ports)};
}

// Two ports of one plane behind different ToRs.
std::pair<NicPort, NicPort> RandomPair(const Network& network, Random& random) {
  while (true) {
    const NicPort from = RandomPort(network, random);
    const NicPort to = RandomPort(network, random);
    if (network.plane_of(from) == network.plane_of(to) && network.tor(from) != network.tor(to)) {
      return {from, to};
    }
  }
}

TEST(RoutesTest, OnAWholeNetworkEveryUplinkHasARoute) {
  for (const fabric::FabricSpec& spec : Fabrics()) {
    const Network network = Built(spec);
    const Down none;  // all up
    Routes routes(network, none);
    Random random(1);
    for (int round = 0; round < 30; ++round) {
      const auto [from, to] = RandomPair(network, random);
      const std::vector<Route>& ways = routes.Between(from, to);
      ASSERT_EQ(static_cast<int>(ways.size()), network.num_up_ports(network.tor(from)));
      for (int u = 0; u < static_cast<int>(ways.size()); ++u) {
        const Route& way = ways[static_cast<std::size_t>(u)];
        EXPECT_EQ(way.front(), Network::up(network.up_cable(network.tor(from), u)));
        ExpectWhole(network, way, from, to, AllUp(network));
      }
    }
  }
}

TEST(RoutesTest, WithAnyCablesDownAnUplinkHasARouteIfAndOnlyIfAWayIsUp) {
  for (const fabric::FabricSpec& spec : Fabrics()) {
    const Network network = Built(spec);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed);
      Down down = AllUp(network);
      for (std::uint8_t& cable : down) cable = random.Below(4) == 0 ? 1 : 0;
      Routes routes(network, down);
      for (int round = 0; round < 20; ++round) {
        const auto [from, to] = RandomPair(network, random);
        std::set<LinkId> expected;
        for (int u = 0; u < network.num_up_ports(network.tor(from)); ++u) {
          const LinkId up = Network::up(network.up_cable(network.tor(from), u));
          if (Leads(network, up, to, down)) expected.insert(up);
        }
        std::vector<LinkId> found;
        for (const Route& way : routes.Between(from, to)) {
          found.push_back(way.front());
          ExpectWhole(network, way, from, to, down);
        }
        EXPECT_EQ(found, std::vector<LinkId>(expected.begin(), expected.end()))
            << spec.name << ", seed " << seed;
      }
    }
  }
}

TEST(RoutesTest, ACableThatIsLostFurtherOnClosesNoUplinkThatHasAnotherWay) {
  const Network network = Built(fabric::SmallHpn(2, 2, 2));
  const NicPort from{HostId(0), 0, 0};
  const NicPort to{HostId(network.places().num_hosts() - 1), 0, 0};
  Down down = AllUp(network);
  Routes whole(network, down);
  const std::vector<Route> before = whole.Between(from, to);
  down[Network::cable_of(before[1].back()).index()] = 1;
  Routes routes(network, down);
  const std::vector<Route>& after = routes.Between(from, to);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t u = 0; u < before.size(); ++u) {
    ExpectWhole(network, after[u], from, to, down);
    EXPECT_EQ(after[u] == before[u], u != 1) << "the others stay";
  }
}

TEST(RoutesTest, UnderOneTorTheRouteIsEmpty) {
  const Network network = Built(fabric::SmallHpn(1, 2, 3));
  const Down down(static_cast<std::size_t>(network.num_cables()), 1);
  Routes routes(network, down);
  EXPECT_EQ(routes.Between({HostId(0), 2, 1}, {HostId(1), 2, 1}), std::vector<Route>(1));
}

TEST(RoutesTest, HostsBehindTheSameTorsShareTheirRoutes) {
  const Network network = Built(fabric::SmallHpn(1, 2, 3));
  const Down none;
  Routes routes(network, none);
  const auto& first = routes.Between({HostId(0), 2, 1}, {HostId(3), 2, 1});
  const auto& back = routes.Between({HostId(3), 2, 1}, {HostId(0), 2, 1});
  EXPECT_EQ(&routes.Between({HostId(1), 2, 1}, {HostId(5), 2, 1}), &first);
  EXPECT_NE(&back, &first);
  EXPECT_FALSE(first.empty());
}

TEST(RoutesTest, PacketsArriveAtAnotherPortOfThePlaneWhereTheirsIsDown) {
  const Network network = Built(fabric::SinglePlaneHpn(1, 2, 2));
  Down down = AllUp(network);
  const Routes routes(network, down);
  const NicPort wanted{HostId(1), 3, 0};
  const NicPort other{HostId(1), 3, 1};
  NicPort port;
  ASSERT_TRUE(routes.Arrival(wanted, port));
  EXPECT_EQ(port, wanted);
  down[network.host_cable(wanted).index()] = 1;
  EXPECT_FALSE(routes.Usable(wanted));
  ASSERT_TRUE(routes.Arrival(wanted, port));
  EXPECT_EQ(port, other);
  down[network.host_cable(other).index()] = 1;
  EXPECT_FALSE(routes.Arrival(wanted, port));
}

TEST(RoutesTest, PacketsDoNotArriveInAnotherPlane) {
  const Network network = Built(fabric::SmallHpn(1, 2, 2));
  Down down = AllUp(network);
  const Routes routes(network, down);
  const NicPort wanted{HostId(1), 3, 0};
  down[network.host_cable(wanted).index()] = 1;
  NicPort port;
  EXPECT_FALSE(routes.Arrival(wanted, port));
}

}  // namespace
}  // namespace yardmaster::netplan
