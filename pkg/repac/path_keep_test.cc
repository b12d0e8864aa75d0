// PlanPaths with the ports that flows had before.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "pkg/base/random.h"
#include "pkg/fabric/testing.h"
#include "pkg/repac/path.h"
#include "pkg/repac/path_planner.h"
#include "pkg/repac/testing.h"

namespace yardmaster::repac {
namespace {

using fabric::HostId;
using fabric::Network;

fabric::FabricSpec Hashed(fabric::FabricSpec spec) {
  SetHashes(spec);
  return spec;
}

// The plan's ports as what the connections used so far.
void Remember(const PathPlan& plan, std::vector<Connection>& connections) {
  for (Connection& connection : connections) connection.previous.clear();
  for (const Flow& flow : plan.flows) {
    if (!flow.planned()) continue;
    connections[static_cast<std::size_t>(flow.connection)].previous.push_back(
        {flow.back, flow.path, flow.src, flow.source_port, flow.alternate_port});
  }
}

std::map<std::pair<SwitchId, bool>, double> Fullest(const PathPlan& plan) {
  std::map<std::pair<SwitchId, bool>, double> out;
  for (const Balance& balance : plan.balances) {
    if (!balance.inbound) out[{balance.tor, false}] = balance.max_bytes;
  }
  return out;
}

TEST(PreviousPortsTest, TheSameInputKeepsEveryPortAndAlternate) {
  for (const fabric::FabricSpec& spec :
       {HpnPod(3, 8), Hashed(fabric::SmallHpn(1, 3, 9)), Hashed(fabric::FatTree(8)),
        Hashed(fabric::SinglePlaneHpn(1, 3, 5))}) {
    const HashedNetwork net(spec);
    const PathWorld world = net.World();
    std::vector<Connection> connections = Rings(*net.network, spec.hosts_per_segment, 1);
    const PathPlan first = PlanPaths(connections, world, {});
    Remember(first, connections);
    const PathPlan again = PlanPaths(connections, world, {});
    EXPECT_TRUE(ChangedFlows(first, again).empty()) << spec.name;
    for (std::size_t i = 0; i < first.flows.size(); ++i) {
      EXPECT_EQ(first.flows[i].alternate_port, again.flows[i].alternate_port);
    }
  }
}

TEST(PreviousPortsTest, DisjointPathsOfOneConnectionAreKeptTogether) {
  const HashedNetwork net(HpnPod(2, 4));
  const PathWorld world = net.World();
  std::vector<Connection> connections = Rings(*net.network, 4, 4);
  const PathPlan first = PlanPaths(connections, world, {});
  Remember(first, connections);
  EXPECT_TRUE(ChangedFlows(first, PlanPaths(connections, world, {})).empty());
}

TEST(PreviousPortsTest, ANewJobGetsPortsAndNobodyElseMovesWhileThereIsRoom) {
  const HashedNetwork net(HpnPod(2, 16));
  const PathWorld world = net.World();
  std::vector<Connection> all = Rings(*net.network, 16, 1);
  std::vector<Connection> old(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(128));
  const PathPlan before = PlanPaths(old, world, {});
  Remember(before, old);
  std::copy(old.begin(), old.end(), all.begin());
  // The newcomers stand in front, so that positions do not help.
  std::rotate(all.begin(), all.begin() + 128, all.end());
  const PathPlan after = PlanPaths(all, world, {});
  const std::size_t newcomers = 2 * (all.size() - old.size());
  for (std::size_t i = 0; i < before.flows.size(); ++i) {
    EXPECT_EQ(before.flows[i].source_port, after.flows[newcomers + i].source_port);
  }
  EXPECT_EQ(after.unplanned, 0);
  for (const Balance& balance : after.balances) {
    if (!balance.inbound) {
      EXPECT_EQ(balance.max_flows, 1);
    }
  }
}

TEST(PreviousPortsTest, WhoeverIsLeftSpreadsOutWhenAJobGoes) {
  // 18 flows on 4 uplinks; then every second one goes, and old ports alone would leave 5 or more on
  // one uplink where 3 is possible.
  const HashedNetwork net(Hashed(fabric::SmallHpn(1, 3, 9)));
  const PathWorld world = net.World();
  Random random(5);
  std::vector<Connection> connections = Rings(*net.network, 9, 2);
  Remember(PlanPaths(connections, world, {}), connections);
  std::vector<Connection> left;
  for (const Connection& connection : connections) {
    if (random.Below(2) == 0) left.push_back(connection);
  }
  const PathPlan kept = PlanPaths(left, world, {});
  for (Connection& connection : left) connection.previous.clear();
  const PathPlan fresh = PlanPaths(left, world, {});
  const auto best = Fullest(fresh);
  for (const auto& [tor, bytes] : Fullest(kept)) EXPECT_LE(bytes, best.at(tor) + 0.5);
}

TEST(PreviousPortsTest, RandomComingsAndGoingsStayNoWorseThanFreshPlansAndMoveFewer) {
  const HashedNetwork net(HpnPod(3, 10));
  const PathWorld world = net.World();
  Random random(11);
  const std::vector<Connection> pool = Rings(*net.network, 10, 1);
  std::vector<Connection> active;
  int moved = 0;
  int stayed = 0;
  for (int round = 0; round < 8; ++round) {
    std::vector<Connection> next;
    for (const Connection& connection : active) {
      if (random.Below(4) != 0) next.push_back(connection);
    }
    for (const Connection& connection : pool) {
      if (random.Below(5) == 0) next.push_back(connection);
    }
    const PathPlan plan = PlanPaths(next, world, {});
    EXPECT_EQ(plan.unplanned, 0);
    for (const Flow& flow : plan.flows) {
      const auto& previous = next[static_cast<std::size_t>(flow.connection)].previous;
      for (const PreviousPort& port : previous) {
        if (port.back != flow.back || port.path != flow.path) continue;
        (port.source_port == flow.source_port ? stayed : moved) += 1;
      }
    }
    std::vector<Connection> bare = next;
    for (Connection& connection : bare) connection.previous.clear();
    // Over all ToRs: planes may be shared out differently.
    double best = 0;
    for (const auto& [tor, bytes] : Fullest(PlanPaths(bare, world, {}))) {
      best = std::max(best, bytes);
    }
    for (const auto& [tor, bytes] : Fullest(plan)) EXPECT_LE(bytes, best + 0.5);
    Remember(plan, next);
    active = std::move(next);
  }
  EXPECT_GT(stayed, 20 * moved);
}

TEST(PreviousPortsTest, ABrokenPathIsLeft) {
  const HashedNetwork net(HpnPod(2, 4));
  std::vector<Connection> connections = Rings(*net.network, 4, 1);
  const PathPlan before = PlanPaths(connections, net.World(), {});
  Remember(before, connections);
  const CableId lost = Network::cable_of(before.flows[0].links[1]);
  for (bool noticed : {false, true}) {
    PathOptions options;
    std::vector<CableId> down;
    (noticed ? down : options.avoid) = {lost};
    const PathWorld world = net.World(down);
    const PathPlan after = PlanPaths(connections, world, options);
    EXPECT_EQ(after.unplanned, 0);
    for (const Flow& flow : after.flows) {
      for (LinkId link : flow.links) EXPECT_NE(Network::cable_of(link), lost);
    }
  }
}

TEST(PreviousPortsTest, AnotherGivenPathWinsOverTheOldPort) {
  const HashedNetwork net(HpnPod(2, 4));
  const PathWorld world = net.World();
  std::vector<Connection> connections = Rings(*net.network, 4, 1);
  const PathPlan before = PlanPaths(connections, world, {});
  Remember(before, connections);
  const Flow& flow = before.flows[0];
  const SwitchId tor = net.network->tor(flow.src);
  for (int u = 0; u < 60; ++u) {
    const LinkId uplink = Network::up(net.network->up_cable(tor, u));
    connections[0].via = {uplink};
    const PathPlan after = PlanPaths(connections, world, {});
    EXPECT_EQ(after.flows[0].links[1], uplink);
    EXPECT_EQ(after.flows[0].source_port == flow.source_port, uplink == flow.links[1]);
  }
}

TEST(PreviousPortsTest, NonsenseDoesNoHarm) {
  const HashedNetwork net(HpnPod(2, 4));
  const PathWorld world = net.World();
  std::vector<Connection> connections = Rings(*net.network, 4, 1);
  const PathPlan fresh = PlanPaths(connections, world, {});
  const NicPort strange[] = {
      {HostId(7), 0, 0}, {HostId(0), 3, 1}, {HostId(0), 0, 2}, {HostId(0), 0, -1}};
  for (const NicPort& src : strange) connections[0].previous.push_back({false, 0, src, 0xC123, 0});
  connections[1].previous = {{false, 0, {HostId(0), 1, 0}, 0x1234, 0}};
  connections[2].previous = {{false, 5, {HostId(0), 2, 0}, 0xC123, 0}};
  EXPECT_TRUE(ChangedFlows(fresh, PlanPaths(connections, world, {})).empty());
}

TEST(PreviousPortsTest, APortIsNotKeptTwiceBetweenTheSameAddresses) {
  const HashedNetwork net(HpnPod(2, 4));
  const PathWorld world = net.World();
  std::vector<Connection> connections(2, Rings(*net.network, 4, 1)[0]);
  for (Connection& connection : connections) {
    connection.previous = {{false, 0, {HostId(0), 0, 0}, 0xC123, 0},
                           {true, 0, {HostId(4), 0, 0}, 0xC123, 0}};
  }
  std::vector<std::uint16_t> ports;
  for (const Flow& flow : PlanPaths(connections, world, {}).flows) {
    ports.push_back(flow.source_port);
  }
  EXPECT_EQ(std::count(ports.begin(), ports.end(), 0xC123), 1);
}

}  // namespace
}  // namespace yardmaster::repac
