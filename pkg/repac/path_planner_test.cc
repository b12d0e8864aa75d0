#include "pkg/repac/path_planner.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "pkg/base/random.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/repac/path.h"
#include "pkg/repac/testing/changed_flows.h"
#include "pkg/repac/testing/networks.h"

namespace yardmaster::repac {
namespace {

using fabric::HostId;
using fabric::Network;

fabric::FabricSpec Hashed(fabric::FabricSpec spec) {
  SetHashes(spec);
  return spec;
}

bool IsSwitchLink(const Network& network, LinkId link) {
  return !network.is_host_cable(Network::cable_of(link));
}

// Every planned flow goes where the plan says, ports are legal and used once per pair of addresses,
// and paths of one connection share no link between switches.
void ExpectSound(const ForwardingModel& forwarding, const PathPlan& plan) {
  const Network& network = forwarding.network();
  std::map<std::pair<Nic, Nic>, std::set<std::uint16_t>> ports;
  std::map<std::pair<int, bool>, std::set<LinkId>> forbidden;
  for (const PlannedFlow& flow : plan.flows) {
    if (!flow.planned()) {
      EXPECT_FALSE(flow.reason.empty());
      continue;
    }
    const auto path = PredictPath(forwarding, flow.src, flow.dst, flow.source_port);
    ASSERT_TRUE(path.ok()) << path.status();
    EXPECT_EQ(path->links, flow.links);
    EXPECT_GE(flow.source_port, kFirstSourcePort);
    Nic a{flow.src.host, flow.src.rail};
    Nic b{flow.dst.host, flow.dst.rail};
    if (b < a) std::swap(a, b);
    for (std::uint16_t port : {flow.source_port, flow.alternate_port}) {
      if (port != 0) {
        EXPECT_TRUE((ports[{a, b}].insert(port).second)) << "port used twice";
      }
    }
    for (LinkId link : flow.links) {
      if (IsSwitchLink(network, link)) {
        EXPECT_TRUE((forbidden[{flow.connection, flow.back}].insert(link).second));
      }
    }
    if (flow.alternate_port == 0) continue;
    const auto other = PredictPath(forwarding, flow.src, flow.dst, flow.alternate_port);
    ASSERT_TRUE(other.ok());
    for (LinkId link : other->links) {
      if (IsSwitchLink(network, link)) {
        EXPECT_EQ(std::find(flow.links.begin(), flow.links.end(), link), flow.links.end());
      }
    }
  }
}

TEST(PlanPathsTest, FlowsOfAToRTakeDifferentUplinksWhileThereAreEnough) {
  const HashedNetwork net(HpnPod(2, 24));  // 24 flows leave every ToR and plane, 60 uplinks
  const ForwardingModel forwarding = net.Forwarding();
  const PathPlan plan = PlanPaths(Rings(*net.network, 24, 2), forwarding, {});
  ExpectSound(forwarding, plan);
  EXPECT_EQ(plan.unplanned, 0);
  EXPECT_FALSE(plan.balances.empty());
  for (const Balance& balance : plan.balances) {
    EXPECT_EQ(balance.links, 60);
    EXPECT_EQ(balance.flows, 48);
    EXPECT_EQ(balance.bound_flows, 1);
    if (!balance.inbound) {
      EXPECT_EQ(balance.max_flows, 1);
    }
  }
}

TEST(PlanPathsTest, LoadsAreEqualWhenThereAreMoreFlowsThanUplinks) {
  fabric::FabricSpec spec = Hashed(fabric::SmallHpn(1, 3, 9));  // 4 uplinks
  const HashedNetwork net(spec);
  const ForwardingModel forwarding = net.Forwarding();
  const PathPlan plan = PlanPaths(Rings(*net.network, 9, 2), forwarding, {});
  ExpectSound(forwarding, plan);
  for (const Balance& balance : plan.balances) {
    EXPECT_EQ(balance.flows, 18);
    EXPECT_EQ(balance.bound_flows, 5);
    if (!balance.inbound) {
      EXPECT_EQ(balance.max_flows, 5);
    }
    EXPECT_LE(balance.max_flows, 6);
  }
}

TEST(PlanPathsTest, PlanesAreBalanced) {
  const HashedNetwork net(HpnPod(2, 4));
  const ForwardingModel forwarding = net.Forwarding();
  const PathPlan plan = PlanPaths(Rings(*net.network, 4, 2), forwarding, {});
  std::map<NicPort, int, bool (*)(const NicPort&, const NicPort&)> by_port(
      [](const NicPort& a, const NicPort& b) {
        return std::tie(a.host, a.rail, a.port) < std::tie(b.host, b.rail, b.port);
      });
  for (const PlannedFlow& flow : plan.flows) ++by_port[flow.src];
  EXPECT_EQ(by_port.size(), 8u * 8u * 2u);
  for (const auto& [port, flows] : by_port) EXPECT_EQ(flows, 2);
}

TEST(PlanPathsTest, AsManyDisjointPathsAsAskedForOrAsThereAre) {
  const HashedNetwork net(Hashed(fabric::SmallHpn(1, 2, 2)));  // 4 uplinks in each of 2 planes
  const ForwardingModel forwarding = net.Forwarding();
  NicConnection connection;
  connection.from = {HostId(0), 0};
  connection.to = {HostId(2), 0};
  connection.paths = 8;
  PathOptions options;
  options.alternates = false;
  PathPlan plan = PlanPaths({connection}, forwarding, options);
  ExpectSound(forwarding, plan);
  EXPECT_EQ(plan.unplanned, 0);
  connection.paths = 9;
  plan = PlanPaths({connection}, forwarding, options);
  ExpectSound(forwarding, plan);
  EXPECT_EQ(plan.unplanned, 2);  // one in each direction
}

TEST(PlanPathsTest, GivenPathsAreReachedExactly) {
  Random random(1);
  for (const fabric::FabricSpec& spec :
       {HpnPod(3, 3), Hashed(fabric::FatTree(8)), Hashed(fabric::SmallHpn(2, 2, 3)),
        Hashed(fabric::SinglePlaneHpn(1, 3, 3))}) {
    const HashedNetwork net(spec);
    const ForwardingModel forwarding = net.Forwarding();
    std::vector<NicConnection> connections = Rings(*net.network, 3);
    for (NicConnection& connection : connections) {
      const NicPort src{connection.from.host, connection.from.rail, 0};
      const NicPort dst{connection.to.host, connection.to.rail, 0};
      const auto port = static_cast<std::uint16_t>(kFirstSourcePort + random.Below(16383));
      const auto path = PredictPath(forwarding, src, dst, port);
      ASSERT_TRUE(path.ok());
      connection.via.assign(path->links.begin() + 1, path->links.end());
    }
    const PathPlan plan = PlanPaths(connections, forwarding, {});
    ExpectSound(forwarding, plan);
    for (const PlannedFlow& flow : plan.flows) {
      ASSERT_TRUE(flow.planned()) << flow.reason;
      if (flow.back) continue;
      const LinkPath behind(flow.links.begin() + 1, flow.links.end());
      EXPECT_EQ(behind, connections[static_cast<std::size_t>(flow.connection)].via);
    }
  }
}

TEST(PlanPathsTest, WorksInEveryFabric) {
  for (const fabric::FabricSpec& spec :
       {Hashed(fabric::SinglePlaneHpn(1, 3, 3)), Hashed(fabric::SinglePlaneHpn(2, 2, 2)),
        Hashed(fabric::FatTree(4)), Hashed(fabric::FatTree(8)), Hashed(fabric::SmallHpn(3, 2, 3)),
        Hashed(fabric::StripedCore(3, 2, 2))}) {
    const HashedNetwork net(spec);
    const ForwardingModel forwarding = net.Forwarding();
    const PathPlan plan = PlanPaths(Rings(*net.network, spec.hosts_per_segment), forwarding, {});
    ExpectSound(forwarding, plan);
    EXPECT_EQ(plan.unplanned, 0);
    for (const Balance& balance : plan.balances) {
      if (!balance.inbound) {
        EXPECT_EQ(balance.max_flows, balance.bound_flows) << spec.name;
      }
    }
  }
}

TEST(PlanPathsTest, TheLargestFlowsAreSpreadFirst) {
  const HashedNetwork net(Hashed(fabric::SmallHpn(1, 2, 9)));
  std::vector<NicConnection> connections = Rings(*net.network, 9);
  for (std::size_t i = 0; i < connections.size(); ++i) connections[i].bytes = i % 7 == 0 ? 100 : 1;
  const ForwardingModel forwarding = net.Forwarding();
  const PathPlan plan = PlanPaths(connections, forwarding, {});
  ExpectSound(forwarding, plan);
  for (const Balance& balance : plan.balances) {
    if (!balance.inbound) {
      EXPECT_LE(balance.max_bytes, 1.34 * balance.bound_bytes + 3);
    }
  }
}

TEST(PlanPathsTest, WhatCannotBePredictedIsLeftAloneWithTheReason) {
  fabric::FabricSpec spec = HpnPod(2, 2);
  spec.ecmp_hash["tor"].group.adaptive_routing = true;
  const HashedNetwork net(spec);
  const ForwardingModel forwarding = net.Forwarding();
  const PathPlan plan = PlanPaths(Rings(*net.network, 2), forwarding, {});
  EXPECT_EQ(plan.unplanned, static_cast<int>(plan.flows.size()));
  for (const PlannedFlow& flow : plan.flows) {
    EXPECT_NE(flow.reason.find("adaptive routing"), std::string::npos) << flow.reason;
  }
}

TEST(PlanPathsTest, ExcludedNicsStayOut) {
  const HashedNetwork net(HpnPod(2, 2));
  const ForwardingModel forwarding = net.Forwarding();
  PathOptions options;
  options.exclude = {{HostId(1), 4}};
  const PathPlan plan = PlanPaths(Rings(*net.network, 2), forwarding, options);
  for (const PlannedFlow& flow : plan.flows) {
    const bool touches =
        flow.src.rail == 4 && (flow.src.host.value == 1 || flow.dst.host.value == 1);
    EXPECT_EQ(flow.planned(), !touches);
  }
}

TEST(PlanPathsTest, IsTheSameEveryTime) {
  const HashedNetwork net(Hashed(fabric::FatTree(8)));
  const ForwardingModel a = net.Forwarding();
  const ForwardingModel b = net.Forwarding();
  const PathPlan first = PlanPaths(Rings(*net.network, 5), a, {});
  const PathPlan second = PlanPaths(Rings(*net.network, 5), b, {});
  EXPECT_TRUE(ChangedFlows(first, second).empty());
  for (std::size_t i = 0; i < first.flows.size(); ++i) {
    EXPECT_EQ(first.flows[i].alternate_port, second.flows[i].alternate_port);
  }
}

class ReplanTest : public testing::Test {
 protected:
  ReplanTest()
      : net_(HpnPod(4, 6)),
        connections_(Rings(*net_.network, 6, 2)),
        healthy_(net_.Forwarding()),
        plan_(PlanPaths(connections_, healthy_, {})) {}

  void ExpectAvoids(const PathPlan& plan, CableId cable) const {
    for (const PlannedFlow& flow : plan.flows) {
      EXPECT_TRUE(flow.planned()) << flow.reason;
      for (LinkId link : flow.links) EXPECT_NE(Network::cable_of(link), cable);
    }
  }
  // A cable between switches that some flow uses.
  CableId BusyCable() const {
    for (const LinkLoad& load : plan_.loads) {
      if (!Network::is_down(load.link)) return Network::cable_of(load.link);
    }
    return CableId();
  }

  HashedNetwork net_;
  std::vector<NicConnection> connections_;
  ForwardingModel healthy_;
  PathPlan plan_;
};

TEST_F(ReplanTest, NothingHappenedNothingChanges) {
  const PathPlan again = Replan(plan_, connections_, healthy_, {});
  EXPECT_TRUE(ChangedFlows(plan_, again).empty());
  ExpectSound(healthy_, again);
}

TEST_F(ReplanTest, BeforeRoutingNoticesOnlyTheFlowsOnTheLinkMoveToTheirAlternates) {
  const CableId lost = BusyCable();
  PathOptions options;
  options.avoid = {lost};
  const PathPlan after = Replan(plan_, connections_, healthy_, options);
  ExpectSound(healthy_, after);
  ExpectAvoids(after, lost);
  const std::vector<int> changed = ChangedFlows(plan_, after);
  EXPECT_FALSE(changed.empty());
  for (int i : changed) {
    const PlannedFlow& flow = plan_.flows[static_cast<std::size_t>(i)];
    const bool was_on = std::any_of(flow.links.begin(), flow.links.end(), [lost](LinkId link) {
      return Network::cable_of(link) == lost;
    });
    EXPECT_TRUE(was_on);
    EXPECT_EQ(after.flows[static_cast<std::size_t>(i)].source_port, flow.alternate_port);
  }
}

TEST_F(ReplanTest, AfterTheGroupShrankFlowsKeepTheirLinksByOtherPorts) {
  const CableId lost = BusyCable();
  const ForwardingModel forwarding = net_.Forwarding({lost});
  const PathPlan after = Replan(plan_, connections_, forwarding, {});
  ExpectSound(forwarding, after);
  ExpectAvoids(after, lost);
  const SwitchId tor = net_.network->switch_port_of(lost).id;
  for (std::size_t i = 0; i < plan_.flows.size(); ++i) {
    const PlannedFlow& was = plan_.flows[i];
    const PlannedFlow& is = after.flows[i];
    const bool was_on = std::any_of(was.links.begin(), was.links.end(), [lost](LinkId link) {
      return Network::cable_of(link) == lost;
    });
    if (!was_on) {
      EXPECT_EQ(was.links, is.links);
    }
    const bool touches = net_.network->tor(was.src) == tor || net_.network->tor(was.dst) == tor;
    if (!touches) {
      EXPECT_EQ(was.source_port, is.source_port);
    }
  }
  for (const Balance& balance : after.balances) {
    if (!balance.inbound) {
      EXPECT_EQ(balance.max_flows, balance.bound_flows);
    }
  }
}

TEST_F(ReplanTest, ALostNicPortMovesItsFlowsToTheOtherPlaneInBothDirections) {
  const NicPort lost{HostId(3), 2, 0};
  const CableId cable = net_.network->host_cable(lost);
  for (bool noticed : {false, true}) {
    PathOptions options;
    if (!noticed) options.avoid = {cable};
    const ForwardingModel forwarding =
        net_.Forwarding(noticed ? std::vector<CableId>{cable} : std::vector<CableId>());
    const PathPlan after = Replan(plan_, connections_, forwarding, options);
    ExpectSound(forwarding, after);
    ExpectAvoids(after, cable);
    for (int i : ChangedFlows(plan_, after)) {
      const PlannedFlow& flow = after.flows[static_cast<std::size_t>(i)];
      const bool touches = (flow.src.host == lost.host && flow.src.rail == lost.rail) ||
                           (flow.dst.host == lost.host && flow.dst.rail == lost.rail);
      EXPECT_TRUE(touches);
      EXPECT_EQ(net_.network->plane_of(flow.src), 1);
    }
  }
}

TEST_F(ReplanTest, ALostToRIsSurvivedInTheOtherPlane) {
  const SwitchId tor = net_.network->tor({HostId(0), 5, 1});
  std::vector<CableId> down;
  for (int c = 0; c < net_.network->num_cables(); ++c) {
    const CableId cable(c);
    const bool of_tor = net_.network->is_host_cable(cable)
                            ? net_.network->tor(net_.network->nic_port_of(cable)) == tor
                            : net_.network->switch_port_of(cable).id == tor;
    if (of_tor) down.push_back(cable);
  }
  const ForwardingModel forwarding = net_.Forwarding(down);
  const PathPlan after = Replan(plan_, connections_, forwarding, {});
  ExpectSound(forwarding, after);
  EXPECT_EQ(after.unplanned, 0);
  for (int i : ChangedFlows(plan_, after)) {
    EXPECT_EQ(after.flows[static_cast<std::size_t>(i)].src.rail, 5);
  }
}

TEST_F(ReplanTest, WhenTheLinkReturnsAllFlowsGoHome) {
  const CableId lost = BusyCable();
  const ForwardingModel broken =
      net_.Forwarding({lost, net_.network->host_cable({HostId(9), 1, 1})});
  const PathPlan during = Replan(plan_, connections_, broken, {});
  EXPECT_FALSE(ChangedFlows(plan_, during).empty());
  const PathPlan after = Replan(during, connections_, healthy_, {});
  EXPECT_TRUE(ChangedFlows(plan_, after).empty());
  ExpectSound(healthy_, after);
}

TEST_F(ReplanTest, RandomFailuresOneAfterAnotherKeepThePlanSound) {
  Random random(3);
  PathPlan plan = plan_;
  std::vector<CableId> down;
  for (int step = 0; step < 12; ++step) {
    down.push_back(CableId(
        static_cast<int>(random.Below(static_cast<std::uint64_t>(net_.network->num_cables())))));
    if (step % 3 == 2) down.erase(down.begin());
    const ForwardingModel forwarding = net_.Forwarding(down);
    plan = Replan(plan, connections_, forwarding, {});
    ExpectSound(forwarding, plan);
    EXPECT_EQ(plan.unplanned, 0);
  }
}

}  // namespace
}  // namespace yardmaster::repac
