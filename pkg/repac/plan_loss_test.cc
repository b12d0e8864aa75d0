// Plans after losses, against a checker that shares nothing with the planner but the network.
#include <algorithm>
#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/repac/flow_planner.h"
#include "pkg/repac/path.h"
#include "pkg/repac/testing/changed_flows.h"
#include "pkg/repac/testing/plan_checker.h"

namespace yardmaster::repac {
namespace {

using fabric::HostId;

// Cables whose loss is the loss of a switch.
std::vector<CableId> CablesOf(const Network& network, SwitchId id) {
  std::vector<CableId> cables;
  for (int c = 0; c < network.num_cables(); ++c) {
    const CableId cable(c);
    if (network.far_end(Network::up(cable)) == id ||
        (!network.is_host_cable(cable) && network.switch_port_of(cable).id == id)) {
      cables.push_back(cable);
    }
  }
  return cables;
}

// Replans for `lost`, first before routing knows and then after, and checks that only flows on
// lost links move.
void Lose(const HashedNetwork& net, const std::vector<NicConnection>& connections,
          const PathPlan& plan, const std::vector<CableId>& lost) {
  const Network& network = *net.network;
  const Down down(lost.begin(), lost.end());
  const auto hit = [&down](const PlannedFlow& flow) {
    return std::any_of(flow.links.begin(), flow.links.end(),
                       [&down](LinkId link) { return down.count(Network::cable_of(link)) != 0; });
  };
  const ForwardingModel before = net.Forwarding();
  PathOptions avoid;
  avoid.avoid = lost;
  const PathPlan moved = Replan(plan, connections, before, avoid);
  Check(network, connections, moved, {});
  EXPECT_EQ(moved.unplanned, 0);
  for (std::size_t i = 0; i < plan.flows.size(); ++i) {
    EXPECT_FALSE(hit(moved.flows[i]));
    if (hit(plan.flows[i])) continue;
    EXPECT_EQ(plan.flows[i].source_port, moved.flows[i].source_port);
    EXPECT_EQ(plan.flows[i].src, moved.flows[i].src);
  }
  const ForwardingModel after = net.Forwarding(lost);
  const PathPlan settled = Replan(moved, connections, after, {});
  Check(network, connections, settled, down);
  EXPECT_EQ(settled.unplanned, 0);
  for (std::size_t i = 0; i < plan.flows.size(); ++i) {
    const PlannedFlow& was = plan.flows[i];
    if (hit(was)) continue;
    EXPECT_EQ(was.links, settled.flows[i].links);
    // The port is the same where it still leads there.
    if (Route(network, was.src, was.dst, was.source_port, down) == was.links) {
      EXPECT_EQ(was.source_port, settled.flows[i].source_port);
    }
  }
  const PathPlan home = Replan(settled, connections, before, {});
  EXPECT_TRUE(ChangedFlows(plan, home).empty());
}

TEST(PlanLossTest, LossesMoveOnlyTheFlowsThatTheyHit) {
  Random random(5);
  for (const fabric::FabricSpec& spec : {HpnPod(3, 4), Fabrics()[3], Fabrics()[6]}) {
    SCOPED_TRACE(spec.name);
    const HashedNetwork net(spec);
    const Network& network = *net.network;
    const auto connections = Rings(network, spec.hosts_per_segment, 1);
    const PathPlan plan = PlanPaths(connections, net.Forwarding(), {});
    const SwitchId tor = network.tor({HostId(1), 0, 0});
    {
      SCOPED_TRACE("uplink");
      Lose(net, connections, plan, {Network::cable_of(plan.flows[0].links[1])});
    }
    {
      SCOPED_TRACE("Agg");
      Lose(net, connections, plan, CablesOf(network, network.upper(tor, 0)));
    }
    if (spec.nic_ports < 2) continue;
    {
      SCOPED_TRACE("ToR");
      Lose(net, connections, plan, CablesOf(network, tor));
    }
    {
      SCOPED_TRACE("NIC port");
      Lose(net, connections, plan, {network.host_cable({HostId(2), spec.rails - 1, 1})});
    }
  }
}

TEST(PlanLossTest, APlaneIsLostInBothDirectionsForANicThatLostItsPort) {
  const HashedNetwork net(HpnPod(2, 4));
  const auto connections = Rings(*net.network, 4, 2);
  const CableId lost = net.network->host_cable({HostId(0), 0, 0});
  const PathPlan plan = PlanPaths(connections, net.Forwarding({lost}), {});
  EXPECT_EQ(plan.unplanned, 0);
  for (const PlannedFlow& flow : plan.flows) {
    const bool out = flow.src.host == HostId(0) && flow.src.rail == 0;
    const bool in = flow.dst.host == HostId(0) && flow.dst.rail == 0;
    if (!out && !in) continue;
    EXPECT_EQ(net.network->plane_of(flow.src), 1);
    EXPECT_EQ(net.network->plane_of(flow.dst), 1);
  }
}

TEST(PlanLossTest, ThePathOfAPortIsAsPredictedSwitchBySwitch) {
  Random random(11);
  const auto below = [&random](int n) {
    return static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
  };
  std::vector<fabric::FabricSpec> specs = Fabrics();
  specs.push_back(specs[0]);
  specs.back().name = "weighted";
  specs.back().ecmp_hash["tor"].group.weights = {3};  // of a group of one, too: to a NIC
  int arrived = 0;
  for (const fabric::FabricSpec& spec : specs) {
    SCOPED_TRACE(spec.name);
    const HashedNetwork net(spec);
    const Network& network = *net.network;
    for (int losses : {0, 3, 20}) {
      std::vector<CableId> lost;
      for (int i = 0; i < losses; ++i) lost.emplace_back(below(network.num_cables()));
      const ForwardingModel model = net.Forwarding(lost);
      const std::vector<NicConnection> none;
      const PlanLedger ledger(none, model, {});
      FlowPlanner planner(model, ledger, 1);
      for (int i = 0; i < 200; ++i) {
        const int port = below(spec.nic_ports);
        const NicPort src{HostId(below(network.places().num_hosts())), below(spec.rails), port};
        NicPort dst{HostId(below(network.places().num_hosts())), below(spec.rails), port};
        dst.port = network.plane_of(src);
        if (src.host == dst.host && src.rail == dst.rail) continue;
        const auto source = static_cast<std::uint16_t>(0xC001 + below(16383));
        const auto path = PredictPath(model, src, dst, source);
        const bool known = path.ok() && path->predictable;
        EXPECT_EQ(planner.PathOf(src, dst, source), known ? path->links : LinkPath());
        arrived += known ? 1 : 0;
      }
    }
  }
  EXPECT_GT(arrived, 2000);
}

TEST(PlanLossTest, AResilientGroupKeepsPortsOnceItsTableIsKnown) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 3);
  SetHashes(spec);
  fabric::GroupRule& rule = spec.ecmp_hash["tor"].group;
  rule.resilient_buckets = 16;
  const HashedNetwork whole(spec);
  auto connections = Rings(*whole.network, 3, 1);
  for (NicConnection& connection : connections) connection.plane = 0;
  const PathPlan plan = PlanPaths(connections, whole.Forwarding(), {});
  EXPECT_EQ(plan.unplanned, 0);
  const SwitchId tor = whole.network->tor({HostId(0), 0, 0});
  const CableId lost = whole.network->up_cable(tor, 1);
  // Without a table it is unknown how the switch refilled its buckets.
  const PathPlan blind = Replan(plan, connections, whole.Forwarding({lost}), {});
  int lost_sight = 0;
  for (const PlannedFlow& flow : blind.flows) {
    lost_sight += !flow.planned() && whole.network->tor(flow.src) == tor ? 1 : 0;
    if (!flow.planned()) {
      EXPECT_NE(flow.reason.find("resilient"), std::string::npos) << flow.reason;
    }
  }
  EXPECT_GT(lost_sight, 0);
  // With the table the switch reports, only the flows in refilled buckets move.
  for (int b = 0; b < 16; ++b)
    rule.resilient_table.push_back(b % 4 == 1 ? (b / 4) % 3 * 2 % 4 : b % 4);
  for (int& member : rule.resilient_table) member = member == 1 ? 3 : member;
  const HashedNetwork reported(spec);
  const PathPlan after = Replan(plan, connections, reported.Forwarding({lost}), {});
  EXPECT_EQ(after.unplanned, 0);
  for (std::size_t i = 0; i < plan.flows.size(); ++i) {
    const PlannedFlow& was = plan.flows[i];
    const bool hit = std::any_of(was.links.begin(), was.links.end(),
                                 [lost](LinkId link) { return Network::cable_of(link) == lost; });
    if (!hit && reported.network->tor(was.src) == tor) {
      EXPECT_EQ(was.source_port, after.flows[i].source_port);
    }
  }
}

}  // namespace
}  // namespace yardmaster::repac
