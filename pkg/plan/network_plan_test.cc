#include "pkg/plan/network_plan.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {
namespace {

using fabric::CableId;
using fabric::HostId;
using fabric::LinkId;
using fabric::Network;

// Four segments of eight hosts with known hashes; jobs of four hosts over two segments each.
class NetworkPlanTest : public ::testing::Test {
 protected:
  NetworkPlanTest() : snapshot_(MakeSnapshot(Spec())) {
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
    AddJob(snapshot_, name, 4);
    std::vector<HostId> hosts;
    for (int segment : {one, other}) {
      const auto all = snapshot_.places->hosts_of(fabric::SegmentId(segment));
      for (int i = 0; i < 2; ++i) hosts.push_back(all[next_[segment]++]);
    }
    Place(snapshot_, static_cast<int>(snapshot_.jobs.size()) - 1,
          {hosts[0], hosts[2], hosts[1], hosts[3]});
  }

  // Plans on what holds, and carries it out.
  Plan Next() {
    PlanOptions options;
    options.paths = true;
    options.input = input_;
    options.input.former = &previous_;
    Plan plan = MakePlan(snapshot_, options);
    previous_ = Remember(plan, snapshot_, previous_);
    return plan;
  }

  // (job, flow) -> port.
  using Ports = std::map<std::pair<std::string, FlowKey>, std::uint16_t>;
  Ports PortsOf(const Plan& plan) const {
    Ports ports;
    for (const PathAssignment& path : plan.paths) {
      ports[{snapshot_.jobs[static_cast<std::size_t>(path.job)].job.key.name, path.key}] =
          path.source_port;
    }
    return ports;
  }
  static std::map<std::pair<int, FlowKey>, fabric::LinkPath> LinksOf(const Plan& plan) {
    std::map<std::pair<int, FlowKey>, fabric::LinkPath> links;
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
  std::map<std::string, int> LevelsOf(const Plan& plan) const {
    std::map<std::string, int> levels;
    for (const JobPlan& job : plan.jobs) {
      levels[snapshot_.jobs[static_cast<std::size_t>(job.job)].job.key.name] = job.network->level;
    }
    return levels;
  }
  // An uplink that some flow takes.
  static CableId UsedUplink(const Plan& plan) {
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

  Snapshot snapshot_;
  std::map<int, int> next_;
  NetworkInput input_;
  PreviousNetwork previous_;
};

TEST_F(NetworkPlanTest, AMeasuredCommunicationTimeTakesThePlaceOfWhatTheBytesTake) {
  const double by_bytes = Next().jobs[0].network->communication_seconds;
  snapshot_.jobs[0].job.profile.communication_seconds = 3 * by_bytes;
  const Plan plan = Next();
  EXPECT_EQ(plan.network.changed_jobs, 1);
  EXPECT_NEAR(plan.jobs[0].network->communication_seconds, 3 * by_bytes, 1e-9);
  EXPECT_NEAR(plan.jobs[0].network->intensity,
              plan.jobs[0].network->flop_per_iteration / (3 * by_bytes), 1);
  EXPECT_NEAR(plan.jobs[1].network->communication_seconds, by_bytes, 1e-9);
}

TEST_F(NetworkPlanTest, PlanningAgainChangesNothing) {
  const Plan first = Next();
  ASSERT_FALSE(first.paths.empty());
  EXPECT_EQ(first.network.unplanned_flows, 0);
  const Plan second = Next();
  EXPECT_EQ(PortsOf(first), PortsOf(second));
  EXPECT_EQ(LevelsOf(first), LevelsOf(second));
  EXPECT_EQ(second.network.changed_flows + second.network.new_flows, 0);
  ASSERT_EQ(first.answers.size(), second.answers.size());
  for (std::size_t i = 0; i < first.answers.size(); ++i) {
    EXPECT_EQ(first.answers[i].source_port, second.answers[i].source_port);
  }
  EXPECT_EQ(second.network.changed_jobs, 0);
}

TEST_F(NetworkPlanTest, AnArrivalElsewhereAndItsDepartureChangeNobody) {
  const Plan before = Next();
  AddSplitJob("d", 2, 3);
  const Plan with = Next();
  EXPECT_EQ(with.network.changed_jobs, 1);
  ExpectIn(PortsOf(before), PortsOf(with));
  for (const auto& [job, level] : LevelsOf(before)) EXPECT_EQ(LevelsOf(with).at(job), level);
  snapshot_.jobs.pop_back();
  const Plan after = Next();
  EXPECT_EQ(PortsOf(before), PortsOf(after));
  EXPECT_EQ(LevelsOf(before), LevelsOf(after));
}

TEST_F(NetworkPlanTest, AnArrivalThatSharesLinksMovesNobodysConnections) {
  const Plan before = Next();
  AddSplitJob("d", 1, 0);
  ExpectIn(PortsOf(before), PortsOf(Next()));
}

TEST_F(NetworkPlanTest, PortsAloneAreEnoughToKeepThem) {
  const Plan before = Next();
  for (auto& [key, job] : previous_) {
    for (auto& [flow_key, flow] : job.flows) flow.links.clear();
  }
  const Plan after = Next();
  EXPECT_EQ(PortsOf(before), PortsOf(after));
  EXPECT_EQ(LinksOf(before), LinksOf(after));
}

// Each worker of a ring sends to the next one only; the acknowledgements come back.
TEST_F(NetworkPlanTest, WhereAJobSendsOneWayTheWayBackHasAPathToo) {
  const Plan plan = Next();
  std::set<std::pair<int, FlowKey>> planned;
  for (const PathAssignment& path : plan.paths) planned.insert({path.job, path.key});
  for (const PathAssignment& answer : plan.answers) {
    EXPECT_NE(answer.source_port, 0) << answer.reason;
    EXPECT_TRUE(planned.insert({answer.job, answer.key}).second) << "planned twice";
  }
  int one_way = 0;
  for (const PathAssignment& path : plan.paths) {
    const FlowKey back{path.to.host, path.to.rail, path.to.port, path.from.host, path.from.rail};
    EXPECT_EQ(planned.count({path.job, back}), 1u);
    ++one_way;
  }
  EXPECT_EQ(plan.answers.size(), static_cast<std::size_t>(one_way));
}

TEST_F(NetworkPlanTest, AnswersLeaveADeadAggAtOnceAndTheOthersStay) {
  const Plan before = Next();
  const fabric::SwitchId agg = snapshot_.network->far_end(before.answers[0].links.at(1));
  for (std::int32_t c = 0; c < snapshot_.network->num_cables(); ++c) {
    const LinkId up = Network::up(CableId(c));
    if (snapshot_.network->far_end(up) == agg) input_.avoid.push_back(CableId(c));
  }
  ASSERT_EQ(input_.avoid.size(), 32u) << "one uplink of every segment and rail";
  const Plan after = Next();
  ASSERT_EQ(before.answers.size(), after.answers.size());
  int moved = 0;
  for (std::size_t i = 0; i < after.answers.size(); ++i) {
    bool touched = false;
    for (const CableId cable : input_.avoid) {
      EXPECT_FALSE(Uses(after.answers[i].links, cable));
      touched = touched || Uses(before.answers[i].links, cable);
    }
    if (!touched) {
      EXPECT_EQ(before.answers[i].source_port, after.answers[i].source_port);
    }
    moved += touched ? 1 : 0;
  }
  EXPECT_GT(moved, 0);
  input_.avoid.clear();
  const Plan whole = Next();
  for (std::size_t i = 0; i < whole.answers.size(); ++i) {
    EXPECT_EQ(whole.answers[i].source_port, before.answers[i].source_port);
  }
}

TEST_F(NetworkPlanTest, BeforeRoutingNoticesOnlyFlowsOverTheLinkMoveAndToTheirAlternatePort) {
  const Plan before = Next();
  const CableId lost = UsedUplink(before);
  input_.avoid = {lost};
  const Plan after = Next();
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
  const Plan before = Next();
  const CableId lost = UsedUplink(before);
  input_.avoid = {lost};
  const Plan avoided = Next();
  input_.avoid.clear();
  SetDown(lost, true);
  const Plan shrunk = Next();
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
  const Plan before = Next();
  const fabric::NicPort port{snapshot_.jobs[0].assignment->host_of_rank[0], 3, 1};
  SetDown(snapshot_.network->host_cable(port), true);
  const Plan without = Next();
  for (const PathAssignment& path : without.paths) {
    EXPECT_FALSE(path.from == port || path.to == port);
  }
  ExpectIn(PortsOf(without), PortsOf(before));
  SetDown(snapshot_.network->host_cable(port), false);
  EXPECT_EQ(PortsOf(Next()), PortsOf(before));
}

TEST_F(NetworkPlanTest, AMistrustedRoleGetsNoPortsAndTheSameOnesWhenItIsTrustedAgain) {
  const Plan before = Next();
  input_.mistrusted = {{"tor", "it was seen to differ"}};
  const Plan without = Next();
  int withdrawn = 0;
  for (const PathAssignment& path : without.paths) {
    if (path.key.from_host == path.key.to_host || path.source_port != 0) continue;
    ++withdrawn;
    EXPECT_NE(path.reason.find("it was seen to differ"), std::string::npos) << path.reason;
  }
  EXPECT_GT(withdrawn, 0);
  const Plan still = Next();
  EXPECT_EQ(PortsOf(without), PortsOf(still));
  EXPECT_EQ(still.network.changed_jobs, 0);
  input_.mistrusted.clear();
  EXPECT_EQ(PortsOf(Next()), PortsOf(before));
}

TEST_F(NetworkPlanTest, AnExcludedNicHasNoPortsAndOthersKeepTheirs) {
  const Plan before = Next();
  const HostId host = snapshot_.jobs[1].assignment->host_of_rank[2];
  input_.exclude = {{host, 5}};
  const Plan after = Next();
  for (const PathAssignment& path : after.paths) {
    const bool out = (path.key.from_host == host && path.key.from_rail == 5) ||
                     (path.key.to_host == host && path.key.to_rail == 5);
    const auto key =
        std::pair(snapshot_.jobs[static_cast<std::size_t>(path.job)].job.key.name, path.key);
    EXPECT_EQ(path.source_port, out ? 0 : PortsOf(before).at(key));
  }
}

TEST_F(NetworkPlanTest, AJobWhoseTrafficChangedChoosesAgainAndASlightlyDifferentOneDoesNot) {
  const Plan before = Next();
  snapshot_.jobs[0].job.profile.compute_seconds = before.jobs[0].network->compute_seconds * 1.05;
  EXPECT_EQ(Next().network.changed_jobs, 0);
  snapshot_.jobs[0].job.profile.compute_seconds *= 2;
  EXPECT_EQ(Next().network.changed_jobs, 1);
}

TEST_F(NetworkPlanTest, ARankThatMovesTakesNoPortsWithIt) {
  const Plan before = Next();
  std::vector<HostId>& hosts = snapshot_.jobs[0].assignment->host_of_rank;
  const HostId gone = hosts[1];
  hosts[1] = snapshot_.places->hosts_of(fabric::SegmentId(1))[9];
  const Plan after = Next();
  EXPECT_GT(after.network.new_flows, 0);
  const Ports ports_after = PortsOf(after);
  for (const auto& [key, port] : PortsOf(before)) {
    if (key.second.from_host == gone || key.second.to_host == gone) continue;
    EXPECT_EQ(ports_after.at(key), port);
  }
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
}  // namespace yardmaster::plan
