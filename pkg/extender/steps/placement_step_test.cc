#include "pkg/extender/steps/placement_step.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/extender/testing/facts_fixture.h"

namespace yardmaster::extender {
namespace {

using ::testing::ElementsAre;

constexpr char kSegmentRequired[] = R"({"data": {"within": "Segment", "mode": "Required"}})";

class PlacementStepTest : public FactsFixture {
 protected:
  // As in a pass.
  void PlaceQueue(PassFacts& facts) {
    Run(step_.PlanQueue(facts), facts);
    Run(step_.ReportWaiting(facts), facts);
    Run(step_.PlaceQueue(facts), facts);
    Run(step_.ReserveHosts(facts), facts);
  }
  std::vector<std::string> PlacedInOrder() const {
    std::vector<std::string> gangs;
    for (const CommitPlan& plan : Asked<CommitPlan>()) gangs.push_back(plan.gang.name);
    return gangs;
  }
  // Writes that decide to stop gangs.
  int CountDecisions() const {
    int decisions = 0;
    for (const CommitGangStatus& commit : Asked<CommitGangStatus>()) {
      decisions += commit.status.preemption ? 1 : 0;
    }
    return decisions;
  }
  static int Reserved(const PassFacts& facts) {
    int reserved = 0;
    for (const placement::HostState& host : facts.snapshot->cluster.hosts) {
      reserved += host.reserved_for >= 0 ? 1 : 0;
    }
    return reserved;
  }

  PlacementStep step_{plan::PlanOptions{}, PreemptionDecider::Options{}};
};

TEST_F(PlacementStepTest, JobsAreCommittedInTheOrderOfTheQueueAndTheSnapshotFollows) {
  AddJob("a", 2);
  AddJob("b", 2, "{}", {{"priority", 10}});
  PassFacts facts = Facts();
  PlaceQueue(facts);
  EXPECT_THAT(PlacedInOrder(), ElementsAre("trainingjob-b", "trainingjob-a"));
  EXPECT_THAT(Reasons(), ElementsAre("Placed", "Placed"));
  std::set<fabric::HostId> taken;
  for (const plan::JobState& job : facts.snapshot->jobs) {
    ASSERT_TRUE(job.assignment);
    for (const fabric::HostId host : job.assignment->host_of_rank) {
      EXPECT_TRUE(taken.insert(host).second);
      EXPECT_EQ(facts.snapshot->cluster.hosts[host.index()].free_gpus, 0);
    }
  }
  EXPECT_TRUE(facts.snapshot_is_current);
}

TEST_F(PlacementStepTest, AJobThatDoesNotFitIsToldWhyOnce) {
  AddJob("a", 7);  // six hosts are there
  PassFacts facts = Facts();
  PlaceQueue(facts);
  ASSERT_EQ(Asked<CommitGangStatus>().size(), 1u);
  EXPECT_NE(Asked<CommitGangStatus>()[0].status.outcome, placement::Outcome::kPlaced);
  EXPECT_THAT(Reasons(), ElementsAre("NotPlaced", "NotPlaced")) << "on the job and on a pod";
  EXPECT_EQ(Asked<GangDecision>().size(), 1u);
  EXPECT_FALSE(facts.waiting.at(GangOf("a")).empty());
  effects_.clear();
  PassFacts next = Facts();
  PlaceQueue(next);
  EXPECT_TRUE(Asked<CommitGangStatus>().empty());
  EXPECT_TRUE(Reasons().empty());
}

TEST_F(PlacementStepTest, WhyAJobWaitsIsNotToldWhileItCannotBeWritten) {
  AddJob("a", 7);
  PassFacts facts = Facts();
  becomes_ = [](const Effect& effect) {
    return std::holds_alternative<CommitGangStatus>(effect) ? EffectOutcome::Result::kFailed
                                                            : EffectOutcome::Result::kDone;
  };
  PlaceQueue(facts);
  EXPECT_TRUE(Reasons().empty());
  becomes_ = [](const Effect&) { return EffectOutcome::Result::kDone; };
  PassFacts next = Facts();
  PlaceQueue(next);
  EXPECT_THAT(Reasons(), ElementsAre("NotPlaced", "NotPlaced"));
}

TEST_F(PlacementStepTest, ThePlaceOfAJobThatIsLeftForTheNextPassIsKeptForIt) {
  AddJob("a", 2);
  AddJob("b", 2);
  PassFacts facts = Facts();
  becomes_ = [](const Effect& effect) {
    const auto* plan = std::get_if<CommitPlan>(&effect);
    return plan != nullptr && plan->gang.name == "trainingjob-a" ? EffectOutcome::Result::kNotTried
                                                                 : EffectOutcome::Result::kDone;
  };
  PlaceQueue(facts);
  EXPECT_THAT(PlacedInOrder(), ElementsAre("trainingjob-a", "trainingjob-b"));
  EXPECT_EQ(Reserved(facts), 2);
  for (const Hold& hold : facts.holds) {
    EXPECT_EQ(hold.reason, HoldReason::kReservation);
    EXPECT_EQ(hold.holder, GangOf("a"));
  }
}

TEST_F(PlacementStepTest, APlaceThatCouldNotBeWrittenIsFreeForOthers) {
  AddJob("a", 2);
  PassFacts facts = Facts();
  becomes_ = [](const Effect& effect) {
    return std::holds_alternative<CommitPlan>(effect) ? EffectOutcome::Result::kFailed
                                                      : EffectOutcome::Result::kDone;
  };
  PlaceQueue(facts);
  EXPECT_TRUE(Reasons().empty());
  EXPECT_EQ(Reserved(facts), 0);
  EXPECT_FALSE(facts.snapshot->jobs[0].assignment);
}

TEST_F(PlacementStepTest, AJobOfHigherPriorityStopsOthersByOneWriteThatKeepsTheirHosts) {
  AddJob("low", 6, "{}", {{"preemptible", true}});
  PassFacts facts = Facts();
  PlaceQueue(facts);
  AddJob("high", 3, kSegmentRequired, {{"priority", 10}});
  PassFacts both = Facts();
  effects_.clear();
  PlaceQueue(both);
  EXPECT_EQ(CountDecisions(), 1);
  EXPECT_TRUE(both.IsStopping(GangOf("low"))) << "from the write on";
  EXPECT_EQ(Reserved(both), 3) << "what it is to get is kept from others";
}

TEST_F(PlacementStepTest, NoGangIsStoppedWhileAPromiseBeforeThatIsLeftForTheNextPass) {
  AddJob("low", 3, kSegmentRequired, {{"preemptible", true}});
  PassFacts facts = Facts();
  PlaceQueue(facts);
  AddJob("first", 2, "{}", {{"priority", 20}});
  AddJob("second", 3, kSegmentRequired, {{"priority", 10}});
  PassFacts all = Facts();
  effects_.clear();
  becomes_ = [](const Effect& effect) {
    return std::holds_alternative<CommitPlan>(effect) ? EffectOutcome::Result::kNotTried
                                                      : EffectOutcome::Result::kDone;
  };
  PlaceQueue(all);
  EXPECT_THAT(PlacedInOrder(), ElementsAre("trainingjob-first"));
  EXPECT_EQ(CountDecisions(), 0);
}

TEST_F(PlacementStepTest, ARankWhosePodWaitsMovesOffALostHost) {
  AddJob("a", 2);
  PassFacts facts = Facts();
  PlaceQueue(facts);
  const std::string lost = facts.gangs.at(GangOf("a"))->status.assignments[1].host;
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/false);
  PassFacts next = Facts();
  effects_.clear();
  Run(PlacementStep::MarkDegraded(next), next);
  Run(step_.MoveRanks(next), next);
  const auto plans = Asked<CommitPlan>();
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_TRUE(plans[0].may_use_backup);
  EXPECT_THAT(Reasons(), ElementsAre("HostReplaced"));
  EXPECT_NE(next.gangs.at(GangOf("a"))->status.assignments[1].host, lost);
}

}  // namespace
}  // namespace yardmaster::extender
