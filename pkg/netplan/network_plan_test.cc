#include "pkg/netplan/network_plan.h"

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/netplan/previous_network_after.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::netplan {
namespace {

using fabric::CableId;
using fabric::HostId;
using fabric::LinkId;
using fabric::Network;

// Four segments of eight hosts with known hashes; jobs of four hosts over two segments each.
class NetworkPlanTest : public ::testing::Test {
 protected:
  NetworkPlanTest() : snapshot_(plan::MakeSnapshot(Spec())) {
    for (const char* name : {"a", "b", "c"}) AddSplitJob(name, 0, 1);
  }

  static fabric::FabricSpec Spec() {
    fabric::FabricSpec spec = fabric::SmallHpn(1, 4, 10);
    spec.backup.hosts_per_segment = 0;
    fabric::HashSpec hash;
    hash.kind = fabric::HashKind::kCrc;
    spec.ecmp_hash["tor"] = hash;
    hash.seed = 7;
    spec.ecmp_hash["agg"] = hash;
    return spec;
  }

  // Two hosts in each of two segments, in the order in which they are free.
  void AddSplitJob(const std::string& name, int one, int other) {
    plan::AddJob(snapshot_, name, 4);
    std::vector<HostId> hosts;
    for (int segment : {one, other}) {
      const auto all = snapshot_.places->hosts_of(fabric::SegmentId(segment));
      for (int i = 0; i < 2; ++i) hosts.push_back(all[next_[segment]++]);
    }
    plan::Place(snapshot_, plan::LastJob(snapshot_), {hosts[0], hosts[2], hosts[1], hosts[3]});
  }

  // Plans on what holds, and carries it out.
  NetworkPlan Next() {
    input_.previous = &previous_;
    NetworkPlan plan = PlanNetwork(snapshot_, PlacedJobs(snapshot_), input_);
    NetworkInput with_memory = input_;
    with_memory.memory = &memory_;
    ExpectSame(PlanNetwork(snapshot_, PlacedJobs(snapshot_), with_memory), plan);
    previous_ = PreviousNetworkAfter(plan, snapshot_, previous_);
    return plan;
  }
  // Every test's history is also planned with a memory, which must not show.
  static void ExpectSame(const NetworkPlan& with, const NetworkPlan& without) {
    ASSERT_EQ(with.jobs.size(), without.jobs.size());
    for (std::size_t j = 0; j < with.jobs.size(); ++j) {
      ASSERT_EQ(with.jobs[j].has_value(), without.jobs[j].has_value());
      if (!with.jobs[j]) continue;
      EXPECT_EQ(with.jobs[j]->level, without.jobs[j]->level);
      EXPECT_EQ(with.jobs[j]->priority, without.jobs[j]->priority);
      EXPECT_EQ(with.jobs[j]->communication_seconds, without.jobs[j]->communication_seconds);
      EXPECT_EQ(with.jobs[j]->share, without.jobs[j]->share);
    }
    ASSERT_EQ(with.paths.size(), without.paths.size());
    for (std::size_t p = 0; p < with.paths.size(); ++p) {
      EXPECT_EQ(with.paths[p].key, without.paths[p].key);
      EXPECT_EQ(with.paths[p].source_port, without.paths[p].source_port);
      EXPECT_EQ(with.paths[p].links, without.paths[p].links);
    }
  }

  // (job, flow) -> port.
  using Ports = std::map<std::pair<std::string, FlowKey>, std::uint16_t>;
  Ports PortsOf(const NetworkPlan& plan) const {
    Ports ports;
    for (const PathAssignment& path : plan.paths) {
      ports[{snapshot_.jobs[path.job.index()].job.key.name, path.key}] = path.source_port;
    }
    return ports;
  }
  static std::map<std::pair<plan::JobId, FlowKey>, fabric::LinkPath> LinksOf(
      const NetworkPlan& plan) {
    std::map<std::pair<plan::JobId, FlowKey>, fabric::LinkPath> links;
    for (const PathAssignment& path : plan.paths) links[{path.job, path.key}] = path.links;
    return links;
  }
  static void ExpectIn(const Ports& some, const Ports& all) {
    for (const auto& [key, port] : some) {
      const auto at = all.find(key);
      ASSERT_NE(at, all.end());
      EXPECT_EQ(at->second, port);
    }
  }
  std::map<std::string, int> LevelsOf(const NetworkPlan& plan) const {
    std::map<std::string, int> levels;
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
      levels[snapshot_.jobs[j].job.key.name] = plan.jobs[j]->level;
    }
    return levels;
  }
  // An uplink that some flow takes.
  static CableId UsedUplink(const NetworkPlan& plan) {
    for (const PathAssignment& path : plan.paths) {
      if (path.links.size() > 2) return Network::cable_of(path.links[1]);
    }
    return CableId();
  }
  static bool Uses(std::span<const LinkId> links, CableId cable) {
    return std::any_of(links.begin(), links.end(),
                       [cable](LinkId link) { return Network::cable_of(link) == cable; });
  }
  void SetDown(CableId cable, bool down) {
    snapshot_.cable_down.resize(static_cast<std::size_t>(snapshot_.network->num_cables()), 0);
    snapshot_.cable_down[cable.index()] = down ? 1 : 0;
  }

  plan::Snapshot snapshot_;
  std::map<int, int> next_;
  NetworkInput input_;
  PreviousNetwork previous_;
  NetworkMemory memory_;
};

TEST_F(NetworkPlanTest, AMeasuredCommunicationTimeTakesThePlaceOfWhatTheBytesTake) {
  const double by_bytes = Next().jobs[0]->communication_seconds;
  snapshot_.jobs[0].job.profile.communication_seconds = 3 * by_bytes;
  const NetworkPlan plan = Next();
  EXPECT_EQ(plan.report.changed_jobs, 1);
  EXPECT_NEAR(plan.jobs[0]->communication_seconds, 3 * by_bytes, 1e-9);
  EXPECT_NEAR(plan.jobs[0]->intensity, plan.jobs[0]->flop_per_iteration / (3 * by_bytes), 1);
  EXPECT_NEAR(plan.jobs[1]->communication_seconds, by_bytes, 1e-9);
}

TEST_F(NetworkPlanTest, PlanningAgainChangesNothing) {
  const NetworkPlan first = Next();
  ASSERT_FALSE(first.paths.empty());
  EXPECT_EQ(first.report.unplanned_flows, 0);
  const NetworkPlan second = Next();
  EXPECT_EQ(PortsOf(first), PortsOf(second));
  EXPECT_EQ(LevelsOf(first), LevelsOf(second));
  EXPECT_EQ(second.report.changed_flows + second.report.new_flows, 0);
  ASSERT_EQ(first.ack_paths.size(), second.ack_paths.size());
  for (std::size_t i = 0; i < first.ack_paths.size(); ++i) {
    EXPECT_EQ(first.ack_paths[i].source_port, second.ack_paths[i].source_port);
  }
  EXPECT_EQ(second.report.changed_jobs, 0);
}

TEST_F(NetworkPlanTest, AnArrivalElsewhereAndItsDepartureChangeNoOtherJob) {
  const NetworkPlan before = Next();
  AddSplitJob("d", 2, 3);
  const NetworkPlan with = Next();
  EXPECT_EQ(with.report.changed_jobs, 1);
  ExpectIn(PortsOf(before), PortsOf(with));
  for (const auto& [job, level] : LevelsOf(before)) EXPECT_EQ(LevelsOf(with).at(job), level);
  snapshot_.jobs.pop_back();
  const NetworkPlan after = Next();
  EXPECT_EQ(PortsOf(before), PortsOf(after));
  EXPECT_EQ(LevelsOf(before), LevelsOf(after));
}

TEST_F(NetworkPlanTest, AnArrivalThatSharesLinksMovesNoConnectionOfOtherJobs) {
  const NetworkPlan before = Next();
  AddSplitJob("d", 1, 0);
  ExpectIn(PortsOf(before), PortsOf(Next()));
}

TEST_F(NetworkPlanTest, PortsAloneAreEnoughToKeepThem) {
  const NetworkPlan before = Next();
  for (auto& [key, job] : previous_) {
    for (auto& [flow_key, flow] : job.flows) flow.links.clear();
  }
  const NetworkPlan after = Next();
  EXPECT_EQ(PortsOf(before), PortsOf(after));
  EXPECT_EQ(LinksOf(before), LinksOf(after));
}

// Each worker of a ring sends to the next one only; the acknowledgements come back.
TEST_F(NetworkPlanTest, WhereAJobSendsOneWayTheWayBackHasAPathToo) {
  const NetworkPlan plan = Next();
  std::set<std::pair<plan::JobId, FlowKey>> planned;
  for (const PathAssignment& path : plan.paths) planned.insert({path.job, path.key});
  for (const PathAssignment& ack : plan.ack_paths) {
    EXPECT_NE(ack.source_port, 0) << ack.reason;
    EXPECT_TRUE(planned.insert({ack.job, ack.key}).second) << "planned twice";
  }
  int one_way = 0;
  for (const PathAssignment& path : plan.paths) {
    const FlowKey back{path.dst.host, path.dst.rail, path.dst.port, path.src.host, path.src.rail};
    EXPECT_EQ(planned.count({path.job, back}), 1u);
    ++one_way;
  }
  EXPECT_EQ(plan.ack_paths.size(), static_cast<std::size_t>(one_way));
}

TEST_F(NetworkPlanTest, AnswersLeaveADeadAggAtOnceAndTheOthersStay) {
  const NetworkPlan before = Next();
  const fabric::SwitchId agg = snapshot_.network->far_end(before.ack_paths[0].links.at(1));
  for (std::int32_t c = 0; c < snapshot_.network->num_cables(); ++c) {
    const LinkId up = Network::up(CableId(c));
    if (snapshot_.network->far_end(up) == agg) input_.avoid.push_back(CableId(c));
  }
  ASSERT_EQ(input_.avoid.size(), 32u) << "one uplink of every segment and rail";
  const NetworkPlan after = Next();
  ASSERT_EQ(before.ack_paths.size(), after.ack_paths.size());
  int moved = 0;
  for (std::size_t i = 0; i < after.ack_paths.size(); ++i) {
    bool touched = false;
    for (const CableId cable : input_.avoid) {
      EXPECT_FALSE(Uses(after.ack_paths[i].links, cable));
      touched = touched || Uses(before.ack_paths[i].links, cable);
    }
    if (!touched) {
      EXPECT_EQ(before.ack_paths[i].source_port, after.ack_paths[i].source_port);
    }
    moved += touched ? 1 : 0;
  }
  EXPECT_GT(moved, 0);
  input_.avoid.clear();
  const NetworkPlan whole = Next();
  for (std::size_t i = 0; i < whole.ack_paths.size(); ++i) {
    EXPECT_EQ(whole.ack_paths[i].source_port, before.ack_paths[i].source_port);
  }
}

TEST_F(NetworkPlanTest, BeforeRoutingNoticesOnlyFlowsOverTheLinkMoveAndToTheirAlternatePort) {
  const NetworkPlan before = Next();
  const CableId lost = UsedUplink(before);
  input_.avoid = {lost};
  const NetworkPlan after = Next();
  ASSERT_EQ(before.paths.size(), after.paths.size());
  int moved = 0;
  for (std::size_t i = 0; i < before.paths.size(); ++i) {
    EXPECT_FALSE(Uses(after.paths[i].links, lost));
    if (!Uses(before.paths[i].links, lost)) {
      EXPECT_EQ(before.paths[i].source_port, after.paths[i].source_port);
      continue;
    }
    ++moved;
    EXPECT_EQ(after.paths[i].source_port, before.paths[i].alternate_port);
  }
  EXPECT_GT(moved, 0);
}

TEST_F(NetworkPlanTest, OnceRoutingShrinksTheGroupEveryoneElseKeepsTheirLinksAndAllGoHomeAfter) {
  const NetworkPlan before = Next();
  const CableId lost = UsedUplink(before);
  input_.avoid = {lost};
  const NetworkPlan avoided = Next();
  input_.avoid.clear();
  SetDown(lost, true);
  const NetworkPlan shrunk = Next();
  const auto links_before = LinksOf(avoided);
  const auto links_after = LinksOf(shrunk);
  for (const auto& [key, links] : links_before) EXPECT_EQ(links_after.at(key), links);
  // Switches that lost nothing hash as before.
  const fabric::SwitchId tor = snapshot_.network->switch_port_of(lost).id;
  for (std::size_t i = 0; i < shrunk.paths.size(); ++i) {
    const auto& links = avoided.paths[i].links;
    const bool near = std::any_of(links.begin(), links.end(), [&](LinkId link) {
      return snapshot_.network->far_end(link) == tor ||
             snapshot_.network->far_end(link) ==
                 snapshot_.network->upper(tor, snapshot_.network->switch_port_of(lost).up_port);
    });
    if (near) continue;
    EXPECT_EQ(shrunk.paths[i].source_port, avoided.paths[i].source_port);
  }
  SetDown(lost, false);
  EXPECT_EQ(PortsOf(Next()), PortsOf(before));
}

TEST_F(NetworkPlanTest, ALostNicPortTakesItsPlaneAwayAndTheFlowsComeBackAsTheyWere) {
  const NetworkPlan before = Next();
  const fabric::NicPort port{snapshot_.jobs[0].assignment->host_of_rank[0], 3, 1};
  SetDown(snapshot_.network->host_cable(port), true);
  const NetworkPlan without = Next();
  for (const PathAssignment& path : without.paths) {
    EXPECT_FALSE(path.src == port || path.dst == port);
  }
  ExpectIn(PortsOf(without), PortsOf(before));
  SetDown(snapshot_.network->host_cable(port), false);
  EXPECT_EQ(PortsOf(Next()), PortsOf(before));
}

TEST_F(NetworkPlanTest, AMistrustedRoleGetsNoPortsAndTheSameOnesWhenItIsTrustedAgain) {
  const NetworkPlan before = Next();
  input_.mistrusted = {{"tor", "it was seen to differ"}};
  const NetworkPlan without = Next();
  int withdrawn = 0;
  for (const PathAssignment& path : without.paths) {
    if (path.key.from_host == path.key.to_host || path.source_port != 0) continue;
    ++withdrawn;
    EXPECT_NE(path.reason.find("it was seen to differ"), std::string::npos) << path.reason;
  }
  EXPECT_GT(withdrawn, 0);
  const NetworkPlan still = Next();
  EXPECT_EQ(PortsOf(without), PortsOf(still));
  EXPECT_EQ(still.report.changed_jobs, 0);
  input_.mistrusted.clear();
  EXPECT_EQ(PortsOf(Next()), PortsOf(before));
}

TEST_F(NetworkPlanTest, AnExcludedNicHasNoPortsAndOthersKeepTheirs) {
  const NetworkPlan before = Next();
  const HostId host = snapshot_.jobs[1].assignment->host_of_rank[2];
  input_.exclude = {{host, 5}};
  const NetworkPlan after = Next();
  for (const PathAssignment& path : after.paths) {
    const bool out = (path.key.from_host == host && path.key.from_rail == 5) ||
                     (path.key.to_host == host && path.key.to_rail == 5);
    const auto key = std::pair(snapshot_.jobs[path.job.index()].job.key.name, path.key);
    EXPECT_EQ(path.source_port, out ? 0 : PortsOf(before).at(key));
  }
}

TEST_F(NetworkPlanTest, AJobWhoseTrafficChangedChoosesAgainAndASlightlyDifferentOneDoesNot) {
  const NetworkPlan before = Next();
  snapshot_.jobs[0].job.profile.compute_seconds = before.jobs[0]->compute_seconds * 1.05;
  EXPECT_EQ(Next().report.changed_jobs, 0);
  snapshot_.jobs[0].job.profile.compute_seconds *= 2;
  EXPECT_EQ(Next().report.changed_jobs, 1);
}

TEST_F(NetworkPlanTest, ARankThatMovesTakesNoPortsWithIt) {
  const NetworkPlan before = Next();
  std::vector<HostId>& hosts = snapshot_.jobs[0].assignment->host_of_rank;
  const HostId gone = hosts[1];
  hosts[1] = snapshot_.places->hosts_of(fabric::SegmentId(1))[9];
  const NetworkPlan after = Next();
  EXPECT_GT(after.report.new_flows, 0);
  const Ports ports_after = PortsOf(after);
  for (const auto& [key, port] : PortsOf(before)) {
    if (key.second.from_host == gone || key.second.to_host == gone) continue;
    EXPECT_EQ(ports_after.at(key), port);
  }
}

TEST_F(NetworkPlanTest, HashesThatCannotBeCompiledAreReportedAndJobsGetNumbersOnly) {
  EXPECT_EQ(Next().report.hashes_problem, "");
  fabric::FabricSpec spec = Spec();
  spec.ecmp_hash_overrides["nowhere"] = spec.ecmp_hash["tor"];
  snapshot_.network =
      std::make_shared<const Network>(Network::Build(spec, snapshot_.places).value());
  const NetworkPlan plan = PlanNetwork(snapshot_, PlacedJobs(snapshot_));
  EXPECT_TRUE(plan.jobs[0].has_value());
  EXPECT_TRUE(plan.paths.empty());
  EXPECT_NE(plan.report.hashes_problem.find("ecmpHashOverrides[\"nowhere\"]"), std::string::npos)
      << plan.report.hashes_problem;
}

TEST_F(NetworkPlanTest, ReservedLevelsAreNotHandedOut) {
  fabric::FabricSpec spec = Spec();
  spec.levels.reserved = {0, 7};
  snapshot_.network =
      std::make_shared<const Network>(Network::Build(spec, snapshot_.places).value());
  for (const auto& [job, level] : LevelsOf(Next())) {
    EXPECT_GT(level, 0);
    EXPECT_LT(level, 7);
  }
}

}  // namespace
}  // namespace yardmaster::netplan
