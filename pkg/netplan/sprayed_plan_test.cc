// Network plans of fabrics whose NICs or switches spray packets.
#include <algorithm>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/netplan/flow_problem.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/netplan/previous_network_after.h"
#include "pkg/plan/testing/snapshots.h"
#include "pkg/repac/path.h"
#include "pkg/repac/testing/networks.h"

namespace yardmaster::netplan {
namespace {

using fabric::HostId;
using fabric::LinkId;
using fabric::Network;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Jobs of one worker a host over the segments of a small fabric.
class SprayedPlanTest : public ::testing::Test {
 protected:
  void Build(const fabric::FabricSpec& spec) { snapshot_ = plan::MakeSnapshot(spec); }
  const Network& network() const { return *snapshot_.network; }
  void AddJob(const std::string& name, const std::vector<int>& hosts, double gigabytes) {
    plan::JobState& state = plan::AddJob(snapshot_, name, static_cast<int>(hosts.size()));
    state.job.profile.flop_per_iteration = 1e15;
    state.job.profile.compute_seconds = 1;
    state.job.profile.data_bytes = gigabytes * 1e9;
    std::vector<HostId> of_rank;
    for (const int host : hosts) of_rank.emplace_back(host);
    plan::Place(snapshot_, plan::LastJob(snapshot_), of_rank);
  }
  void Lose(fabric::CableId cable) {
    snapshot_.cable_down.resize(static_cast<std::size_t>(network().num_cables()), 0);
    snapshot_.cable_down[cable.index()] = 1;
  }
  // Plans on what holds and carries it out.
  NetworkPlan Next() {
    input_.previous = &previous_;
    NetworkPlan plan = PlanNetwork(snapshot_, PlacedJobs(snapshot_), input_);
    previous_ = PreviousNetworkAfter(plan, snapshot_, previous_);
    return plan;
  }
  std::vector<int> Levels(const NetworkPlan& plan) const {
    std::vector<int> levels;
    for (const auto& job : plan.jobs) levels.push_back(job ? job->level : -1);
    return levels;
  }
  // What all jobs put on each link in an iteration.
  static std::map<LinkId, double> BytesOf(const NetworkPlan& plan) {
    std::map<LinkId, double> bytes;
    for (const SprayedLoads::Load& load : plan.sprayed.loads) {
      const auto& links = plan.sprayed.bundles[static_cast<std::size_t>(load.bundle)];
      for (const LinkId link : links) bytes[link] += load.bytes / static_cast<double>(links.size());
    }
    return bytes;
  }
  static double SentBy(const NetworkPlan& plan) {
    double sent = 0;
    for (const PathAssignment& path : plan.paths) sent += path.bytes;
    return sent;
  }

  static fabric::FabricSpec SprayingNics(int planes) {
    fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 6);
    spec.planes = spec.nic_ports = planes;
    spec.nic_spraying = true;
    return spec;
  }

  plan::Snapshot snapshot_;
  NetworkInput input_;
  PreviousNetwork previous_;
};

TEST_F(SprayedPlanTest, SprayingNicsGiveOneFlowAConnectionAndNoPort) {
  Build(SprayingNics(4));
  AddJob("a", {0, 6, 1, 7}, 10);
  const NetworkPlan plan = Next();
  ASSERT_FALSE(plan.paths.empty());
  std::set<FlowKey> keys;
  for (const PathAssignment& path : plan.paths) {
    EXPECT_TRUE(keys.insert(path.key).second);
    EXPECT_TRUE(path.sprayed);
    EXPECT_EQ(path.source_port, 0);
    EXPECT_THAT(path.links, IsEmpty());
    EXPECT_THAT(path.reason, HasSubstr("spec.host.nicSpraying"));
  }
  EXPECT_THAT(plan.ack_paths, IsEmpty());
  EXPECT_EQ(plan.report.unplanned_flows, static_cast<int>(plan.paths.size()));
}

TEST_F(SprayedPlanTest, WhatJobsSendIsOnTheLinksOfEveryCutInEqualPartsOfThePlanes) {
  Build(SprayingNics(4));
  AddJob("a", {0, 6, 1, 7}, 10);
  const NetworkPlan plan = Next();
  std::map<std::pair<int, bool>, std::map<int, double>> cut;  // host or ToR cables, up or down
  for (const auto& [link, bytes] : BytesOf(plan)) {
    const fabric::CableId cable = Network::cable_of(link);
    const bool host = network().is_host_cable(cable);
    const int plane = host ? network().plane_of(network().nic_port_of(cable))
                           : network().place_of(network().switch_port_of(cable).id).plane;
    cut[{host ? 0 : 1, Network::is_down(link)}][plane] += bytes;
  }
  const double sent = SentBy(plan);
  for (const auto& [at, planes] : cut) {
    ASSERT_THAT(planes, SizeIs(4));
    // Every hop of this ring crosses the segments.
    const double part = sent / 4;
    for (const auto& [plane, bytes] : planes) EXPECT_NEAR(bytes, part, 1e-9 * part);
  }
}

TEST_F(SprayedPlanTest, JobsOnTheSameUplinksContendAndGetDifferentLevels) {
  Build(SprayingNics(2));
  AddJob("heavy", {0, 6, 1, 7}, 40);
  AddJob("light", {2, 8, 3, 9}, 10);
  AddJob("alone", {4, 10}, 10);
  const NetworkPlan plan = Next();
  const std::vector<int> levels = Levels(plan);
  EXPECT_NE(levels[1], levels[0]);
  EXPECT_GT(plan.jobs[1]->intensity, plan.jobs[0]->intensity);
}

TEST_F(SprayedPlanTest, NothingChangesWhereNothingChanged) {
  Build(SprayingNics(2));
  AddJob("a", {0, 6, 1, 7}, 40);
  AddJob("b", {2, 8, 3, 9}, 10);
  const NetworkPlan first = Next();
  const NetworkPlan second = Next();
  EXPECT_EQ(Levels(second), Levels(first));
  EXPECT_EQ(second.report.changed_jobs, 0);
  EXPECT_EQ(BytesOf(second), BytesOf(first));
}

TEST_F(SprayedPlanTest, ALostPlaneMakesCommunicationLongerByItsPart) {
  Build(SprayingNics(8));
  AddJob("a", {0, 6}, 40);
  const double whole = Next().jobs[0]->communication_seconds;
  for (int rail = 0; rail < 8; ++rail) Lose(network().host_cable({HostId(0), rail, 3}));
  const NetworkPlan plan = Next();
  EXPECT_NEAR(plan.jobs[0]->communication_seconds, whole * 8 / 7, 1e-9);
  for (const auto& [link, bytes] : BytesOf(plan)) {
    const fabric::CableId cable = Network::cable_of(link);
    if (network().is_host_cable(cable)) {
      EXPECT_NE(network().nic_port_of(cable).port, 3) << network().name(link);
    }
  }
}

TEST_F(SprayedPlanTest, AMemoryDoesNotShowWhenCablesComeAndGo) {
  Build(SprayingNics(4));
  AddJob("a", {0, 6, 1, 7}, 40);
  AddJob("b", {2, 8, 3, 9}, 10);
  NetworkMemory memory;
  for (int round = 0; round < 12; ++round) {
    NetworkInput with = input_;
    with.previous = &previous_;
    with.memory = &memory;
    const NetworkPlan kept = PlanNetwork(snapshot_, PlacedJobs(snapshot_), with);
    const NetworkPlan fresh = Next();
    EXPECT_EQ(Levels(kept), Levels(fresh));
    EXPECT_EQ(kept.jobs[0]->communication_seconds, fresh.jobs[0]->communication_seconds);
    EXPECT_EQ(BytesOf(kept), BytesOf(fresh));
    const fabric::CableId uplink =
        network().up_cable(network().tor({HostId(0), round % 8, round % 4}), round % 4);
    if (round % 3 == 2) {
      snapshot_.cable_down.clear();
    } else {
      Lose(uplink);
    }
  }
}

TEST_F(SprayedPlanTest, SwitchesThatAllSprayLeaveAFlowForEachPortAndNoPortToChoose) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 6);
  repac::SetHashes(spec);
  spec.tiers[0].spraying = true;
  Build(spec);
  AddJob("a", {0, 6, 1}, 10);
  const NetworkPlan plan = Next();
  int sprayed = 0;
  for (const PathAssignment& path : plan.paths) {
    const bool near = network().tor(path.src) == network().tor(path.dst);
    EXPECT_EQ(path.sprayed, !near);
    // Inside a segment nothing chooses, and any port will do.
    EXPECT_EQ(path.planned(), near) << path.reason;
    if (near) continue;
    ++sprayed;
    EXPECT_THAT(path.reason, HasSubstr("spec.tiers[].spraying"));
  }
  EXPECT_EQ(sprayed, 2 * 8 * 2) << "hops that cross, rails, ports";
}

// Fabric pods whose cores are chosen by the Agg switches.
class MixedTiersTest : public SprayedPlanTest {
 protected:
  void BuildWith(std::size_t sprays) {
    fabric::FabricSpec spec = fabric::SmallHpn(2, 2, 3);
    repac::SetHashes(spec);
    for (std::size_t t = 0; t < spec.tiers.size(); ++t) spec.tiers[t].spraying = t == sprays;
    Build(spec);
    AddJob("a", {0, 6, 1, 7}, 10);
  }
  // Of flows between fabric pods.
  static bool Crosses(const Network& network, const PathAssignment& path) {
    return network.places().fabric_pod_of(path.src.host) !=
           network.places().fabric_pod_of(path.dst.host);
  }
};

TEST_F(MixedTiersTest, PortsChooseTheUplinkWhereTheTierAboveSprays) {
  BuildWith(1);
  const NetworkPlan plan = Next();
  const auto hashes = repac::SwitchHashes::Compile(network());
  ASSERT_TRUE(hashes.ok());
  const repac::ForwardingModel real(network(), *hashes, {});
  std::map<LinkId, int> uplinks;
  int crossing = 0;
  for (const PathAssignment& path : plan.paths) {
    if (!Crosses(network(), path)) continue;
    ++crossing;
    EXPECT_TRUE(path.sprayed);
    ASSERT_TRUE(path.planned()) << path.reason;
    // What is predicted of real packets ends where they are sprayed, at the uplink that was chosen.
    const auto taken = repac::PredictPath(real, path.src, path.dst, path.source_port);
    ASSERT_TRUE(taken.ok());
    EXPECT_FALSE(taken->predictable);
    EXPECT_THAT(taken->reason, HasSubstr("spec.tiers[1].spraying"));
    ASSERT_GE(taken->links.size(), 2u);
    EXPECT_EQ(taken->links[1], path.links[1]);
    ++uplinks[path.links[1]];
  }
  EXPECT_GT(crossing, 0);
  EXPECT_GT(uplinks.size(), 1u);
}

TEST_F(MixedTiersTest, PortsChooseAtTheAggWhereTheTierBelowSprays) {
  BuildWith(0);
  const NetworkPlan plan = Next();
  for (const PathAssignment& path : plan.paths) {
    if (!Crosses(network(), path)) continue;
    EXPECT_TRUE(path.sprayed);
    EXPECT_TRUE(path.planned()) << path.reason;
  }
  // A second round keeps the ports.
  const NetworkPlan again = Next();
  ASSERT_EQ(again.paths.size(), plan.paths.size());
  for (std::size_t p = 0; p < plan.paths.size(); ++p) {
    EXPECT_EQ(again.paths[p].source_port, plan.paths[p].source_port);
  }
  EXPECT_EQ(again.report.changed_jobs, 0);
}

TEST_F(MixedTiersTest, EveryCutCarriesWhatIsSent) {
  for (const std::size_t sprays : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    BuildWith(sprays);
    const NetworkPlan plan = Next();
    double sent = 0;
    for (const PathAssignment& path : plan.paths) sent += Crosses(network(), path) ? path.bytes : 0;
    double leaves = 0;
    double returns = 0;
    for (const auto& [link, bytes] : BytesOf(plan)) {
      const fabric::CableId cable = Network::cable_of(link);
      if (network().is_host_cable(cable)) continue;
      if (network().tier_of(network().switch_port_of(cable).id) != 1) continue;
      (Network::is_down(link) ? returns : leaves) += bytes;
    }
    EXPECT_GT(sent, 0);
    EXPECT_NEAR(leaves, sent, 1e-9 * sent) << "tier " << sprays;
    EXPECT_NEAR(returns, sent, 1e-9 * sent) << "tier " << sprays;
    previous_.clear();
    snapshot_ = {};
  }
}

}  // namespace
}  // namespace yardmaster::netplan
