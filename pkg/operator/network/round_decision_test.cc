#include "pkg/operator/network/round_decision.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yardmaster::op {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const NamespacedName kA{"team", "a"};
const NamespacedName kB{"team", "b"};

// Two placed jobs at levels 2 and 5.
class RoundDecisionTest : public ::testing::Test {
 protected:
  RoundDecisionTest() {
    for (const NamespacedName& key : {kA, kB}) {
      plan::JobState job;
      job.job.key = key;
      snapshot_.jobs.push_back(job);
      api::Gang gang;
      gang.metadata.namespace_name = key.namespace_name;
      gang.metadata.name = key.name;
      gang.metadata.uid = key.name;
      gangs_.Put(std::make_shared<const api::Gang>(gang));
    }
    for (const int level : {2, 5}) {
      GangNetwork network;
      network.job = plan::JobId(static_cast<int>(networks_.size()));
      network.status.level = level;
      networks_.push_back(network);
    }
  }

  plan::Snapshot snapshot_;
  state::ObjectTable<api::Gang> gangs_;
  std::vector<GangNetwork> networks_;
};

TEST_F(RoundDecisionTest, WhatIsHeldBackAndWhatReportsDisagreeWithIsAvoided) {
  NetworkFacts facts;
  facts.cables.avoid = {fabric::CableId(1)};
  facts.health.evidence.avoid = {fabric::CableId(4)};
  const netplan::NetworkInput input = PlanInputOf(facts);
  EXPECT_THAT(input.avoid, ElementsAre(fabric::CableId(1), fabric::CableId(4)));
  EXPECT_TRUE(input.predict_shares);
  EXPECT_TRUE(input.mistrusted.empty());
}

TEST_F(RoundDecisionTest, ProblemsOfThePlanNameTheFabric) {
  netplan::NetworkReport report;
  EXPECT_TRUE(ProblemsOf(report, "hpn").empty());
  report.hashes_problem = "no role has a hash";
  report.problem = "no network";
  EXPECT_THAT(ProblemsOf(report, "hpn"),
              ElementsAre("Fabric hpn: no role has a hash", "no network"));
}

TEST_F(RoundDecisionTest, TheFirstFlowWithoutAPortSaysWhyFlowsAreUnplanned) {
  netplan::NetworkPlan plan;
  plan.report.unplanned_flows = 2;
  plan.paths.resize(3);
  plan.paths[0].source_port = 49'152;
  plan.paths[1].reason = "no hash";
  plan.paths[2].reason = "later";
  NetworkHealth health;
  AddPlanHealth(plan, health);
  EXPECT_EQ(health.unplanned_flows, 2);
  EXPECT_EQ(health.unplanned_reason, "no hash");
  NetworkHealth of_no_plan;
  plan.report.problem = "no network";
  AddPlanHealth(plan, of_no_plan);
  EXPECT_EQ(of_no_plan.unplanned_flows, 0) << "nothing was planned";
}

TEST_F(RoundDecisionTest, GangsWithMeasuredOrBlendedNumbersAreCounted) {
  networks_[0].status.source = api::NetworkSource::kAnalytic;
  networks_[1].status.source = api::NetworkSource::kMeasured;
  EXPECT_EQ(MeasuredGangs(networks_), 1);
}

TEST_F(RoundDecisionTest, TheStarvationGuardSeesLevelsAndSharesByJob) {
  networks_[1].share = 0.25;
  const std::vector<StarvationView> views = StarvationViewsOf(networks_, snapshot_);
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[0].job, kA);
  EXPECT_EQ(views[0].planned_level, 2);
  EXPECT_FALSE(views[0].share.has_value());
  EXPECT_EQ(views[1].share, 0.25);
}

TEST_F(RoundDecisionTest, ALiftedGangHasTheLevelOfTheLiftAndItsGangIsTold) {
  StarvationVerdict verdict;
  verdict.lifted = {{kB, 6}};
  verdict.begun = {kB};
  verdict.ended = {kA, {"team", "gone"}};
  ApplyLifts(verdict, snapshot_, networks_);
  EXPECT_EQ(networks_[0].status.level, 2);
  EXPECT_EQ(networks_[1].status.level, 6);
  const std::vector<NetworkNotice> notices = LiftNotices(verdict, gangs_, {});
  ASSERT_EQ(notices.size(), 2u) << "a Gang that is gone has no event";
  EXPECT_EQ(notices[0].name, "b");
  EXPECT_EQ(notices[0].reason, "NetworkStarved");
  EXPECT_TRUE(notices[0].warning);
  EXPECT_THAT(notices[0].note, HasSubstr("level 6"));
  EXPECT_EQ(notices[1].name, "a");
  EXPECT_EQ(notices[1].reason, "NetworkLiftEnded");
  EXPECT_FALSE(notices[1].warning);
}

}  // namespace
}  // namespace yardmaster::op
