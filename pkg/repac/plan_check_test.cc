// Plans against a checker that shares nothing with the planner but the network.
#include <algorithm>
#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/repac/testing/plan_checker.h"

namespace yardmaster::repac {
namespace {

using fabric::HostId;

TEST(PlanCheckTest, PlansAreWhatTheReferenceSays) {
  Random random(1);
  for (const fabric::FabricSpec& spec : Fabrics()) {
    SCOPED_TRACE(spec.name);
    const HashedNetwork net(spec);
    const ForwardingModel forwarding = net.Forwarding();
    for (int round = 0; round < 3; ++round) {
      const auto connections = RandomConnections(*net.network, 40, random);
      const PathPlan plan = PlanPaths(connections, forwarding, {});
      Check(*net.network, connections, plan, {});
    }
  }
}

TEST(PlanCheckTest, BothDirectionsAndBothPlanesOfARingCarryTheSame) {
  const HashedNetwork net(HpnPod(2, 6));
  const auto connections = Rings(*net.network, 6, 2);
  const PathPlan plan = PlanPaths(connections, net.Forwarding(), {});
  Check(*net.network, connections, plan, {});
  std::map<std::tuple<HostId, int, int>, int> sent;
  std::map<std::tuple<HostId, int, int>, int> received;
  for (const PlannedFlow& flow : plan.flows) {
    ++sent[{flow.src.host, flow.src.rail, flow.src.port}];
    ++received[{flow.dst.host, flow.dst.rail, flow.dst.port}];
  }
  EXPECT_EQ(sent.size(), 12u * 8 * 2);
  for (const auto& [port, flows] : sent) EXPECT_EQ(flows, 2);
  for (const auto& [port, flows] : received) EXPECT_EQ(flows, 2);
}

TEST(PlanCheckTest, AnAddressPairRunsOutOfDisjointPathsBeforeItRepeatsAPort) {
  const HashedNetwork net(HpnPod(2, 2));
  NicConnection connection;
  connection.from = {HostId(0), 0};
  connection.to = {HostId(2), 0};
  connection.paths = 121;  // 60 uplinks in each of two planes
  PathOptions options;
  options.alternates = false;
  const PathPlan plan = PlanPaths({connection}, net.Forwarding(), options);
  Check(*net.network, {connection}, plan, {});
  EXPECT_EQ(plan.unplanned, 2);
}

TEST(PlanCheckTest, AGivenPathIsTakenExactlyOrReportedWithThePolarisation) {
  fabric::FabricSpec spec = fabric::FatTree(8);
  SetHashes(spec);
  for (bool polarised : {false, true}) {
    if (polarised) spec.ecmp_hash["agg"] = Rtag7(fabric::Rtag7Function::kCrc32cLo, 99);
    const HashedNetwork net(spec);
    const ForwardingModel forwarding = net.Forwarding();
    NicConnection connection;
    connection.from = {HostId(0), 0};
    connection.to = {HostId(net.network->places().num_hosts() - 1), 0};
    connection.both_directions = false;
    const SwitchId edge = net.network->tor({HostId(0), 0, 0});
    int reached = 0;
    for (int u = 0; u < 4; ++u) {
      for (int v = 0; v < 4; ++v) {
        const LinkId first = Network::up(net.network->up_cable(edge, u));
        const LinkId second = Network::up(net.network->up_cable(net.network->upper(edge, u), v));
        connection.via = {first, second};
        const PathPlan plan = PlanPaths({connection}, forwarding, {});
        Check(*net.network, {connection}, plan, {});
        const PlannedFlow& flow = plan.flows[0];
        if (flow.planned()) {
          ++reached;
          EXPECT_EQ(flow.links[1], first);
          EXPECT_EQ(flow.links[2], second);
        } else {
          EXPECT_NE(flow.reason.find("polarisation"), std::string::npos) << flow.reason;
        }
      }
    }
    EXPECT_EQ(reached, polarised ? 4 : 16);
  }
}

TEST(PlanCheckTest, GroupsThatAreNoPowerOfTwoReachEveryMember) {
  for (int uplinks : {60, 59, 48, 7}) {
    fabric::FabricSpec spec = HpnPod(2, 2);
    spec.tiers[0].up_ports = spec.tiers[1].switches = uplinks;
    const HashedNetwork net(spec);
    const ForwardingModel forwarding = net.Forwarding();
    NicConnection connection;
    connection.from = {HostId(1), 3};
    connection.to = {HostId(2), 3};
    const SwitchId tor = net.network->tor({HostId(1), 3, 1});
    for (int u = 0; u < uplinks; ++u) {
      connection.via = {Network::up(net.network->up_cable(tor, u))};
      const PathPlan plan = PlanPaths({connection}, forwarding, {});
      ASSERT_TRUE(plan.flows[0].planned()) << plan.flows[0].reason;
      EXPECT_EQ(plan.flows[0].links[1], connection.via[0]);
      Check(*net.network, {connection}, plan, {});
    }
  }
}

TEST(PlanCheckTest, SwitchesOfASprayingTierChooseNothing) {
  fabric::FabricSpec spec = HpnPod(2, 2);
  spec.tiers[0].spraying = true;
  const HashedNetwork net(spec);
  for (const PlannedFlow& flow : PlanPaths(Rings(*net.network, 2, 1), net.Forwarding(), {}).flows) {
    EXPECT_FALSE(flow.planned());
    EXPECT_NE(flow.reason.find("spec.tiers[0].spraying"), std::string::npos) << flow.reason;
  }
  // Inside a segment the ToR has one way, and any port takes it.
  for (const PlannedFlow& flow : PlanPaths(Rings(*net.network, 1, 1), net.Forwarding(), {}).flows) {
    const auto segment = [&](HostId host) { return net.network->places().segment_of(host); };
    EXPECT_EQ(flow.planned(), segment(flow.src.host) == segment(flow.dst.host)) << flow.reason;
  }
  spec.tiers[0].spraying = false;
  spec.tiers[1].spraying = true;  // an Agg of this fabric has one way down
  const HashedNetwork above(spec);
  for (const PlannedFlow& flow :
       PlanPaths(Rings(*above.network, 2, 1), above.Forwarding(), {}).flows) {
    EXPECT_TRUE(flow.planned()) << flow.reason;
  }
}

TEST(PlanCheckTest, SprayingNicsAndUnknownAddressesGetNoPorts) {
  fabric::FabricSpec spec = HpnPod(2, 2);
  spec.nic_spraying = true;
  const HashedNetwork spraying(spec);
  for (const PlannedFlow& flow :
       PlanPaths(Rings(*spraying.network, 2, 1), spraying.Forwarding(), {}).flows) {
    EXPECT_FALSE(flow.planned());
    EXPECT_NE(flow.reason.find("spec.host.nicSpraying"), std::string::npos) << flow.reason;
  }
  spec.nic_spraying = false;
  std::vector<fabric::HostPlace> hosts = fabric::HostsOf(spec);
  hosts[1].address_problem = "its annotation is wrong";
  hosts[3].nic_addresses.assign(8, *IpAddress::Parse("fd00::1"));
  const auto network =
      Network::Build(spec, std::make_shared<const fabric::Places>(*fabric::Places::Build(hosts)));
  ASSERT_TRUE(network.ok());
  const ForwardingModel forwarding(*network, *SwitchHashes::Compile(*network), {});
  const auto connections = Rings(*network, 1, 1);
  for (const PlannedFlow& flow : PlanPaths(connections, forwarding, {}).flows) {
    const bool unknown = flow.src.host == HostId(1) || flow.dst.host == HostId(1);
    const bool mixed = (flow.src.host == HostId(3)) != (flow.dst.host == HostId(3));
    EXPECT_EQ(flow.planned(), !unknown && !mixed);
    if (unknown) {
      EXPECT_EQ(flow.reason, "its annotation is wrong");
    } else if (mixed) {
      EXPECT_NE(flow.reason.find("of another kind"), std::string::npos) << flow.reason;
    }
  }
}

}  // namespace
}  // namespace yardmaster::repac
