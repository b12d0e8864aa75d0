#include "pkg/extender/steps/placement_step.h"

#include <set>
#include <stdexcept>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/extender/testing/facts_fixture.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::extender {
namespace {

using ::testing::ElementsAre;

constexpr char kSegmentRequired[] = R"({"data": {"within": "Segment", "mode": "Required"}})";

class PlacementStepTest : public FactsFixture {
 protected:
  // As in a pass.
  void PlaceQueue(PassFacts& facts) { PlaceQueue(facts, step_); }
  void PlaceQueue(PassFacts& facts, PlacementStep& step) {
    Run(step.PlanQueue(facts), facts);
    Run(step.ReportWaiting(facts), facts);
    Run(step.PlaceQueue(facts), facts);
    Run(step.ReserveHosts(facts), facts);
  }
  // The plan of a job that is not left out throws.
  static MakePlan ThrowingFor(const std::string& job) {
    return [gang = GangOf(job)](const plan::Snapshot& snapshot, const plan::PlanOptions& options) {
      for (const plan::JobState& state : snapshot.jobs) {
        if (state.job.key == gang && state.problems.empty()) throw std::out_of_range("map::at");
      }
      return plan::MakePlan(snapshot, options);
    };
  }
  void LeavePlans(EffectOutcome::Result result, const std::string& gang) {
    becomes_ = [=](const Effect& effect) {
      const auto* plan = std::get_if<CommitPlan>(&effect);
      return plan != nullptr && plan->gang.name == gang ? result : EffectOutcome::Result::kDone;
    };
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
  EXPECT_TRUE(facts.snapshot_is_current());
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
  LeavePlans(EffectOutcome::Result::kLeft, "trainingjob-a");
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
  LeavePlans(EffectOutcome::Result::kLeft, "trainingjob-first");
  PlaceQueue(all);
  EXPECT_THAT(PlacedInOrder(), ElementsAre("trainingjob-first"));
  EXPECT_EQ(CountDecisions(), 0);
}

TEST_F(PlacementStepTest, AGangThatIsLeftAloneKeepsNoPlaceAndHoldsUpNoDecision) {
  AddJob("low", 3, kSegmentRequired, {{"preemptible", true}});
  PassFacts facts = Facts();
  PlaceQueue(facts);
  AddJob("first", 2, "{}", {{"priority", 20}});
  AddJob("second", 3, kSegmentRequired, {{"priority", 10}});
  PassFacts all = Facts();
  effects_.clear();
  LeavePlans(EffectOutcome::Result::kNotTried, "trainingjob-first");
  PlaceQueue(all);
  EXPECT_EQ(CountDecisions(), 1);
  for (const Hold& hold : all.holds) EXPECT_EQ(hold.holder, GangOf("second"));
}

TEST_F(PlacementStepTest, AGangThatIsLeftForTheNextPassKeepsNoNeighbourOffItsHost) {
  const json half = {{"gpusPerWorker", 4}, {"parallelism", {{"tensor", 4}, {"data", 1}}}};
  AddJob("a", 1, "{}", half);
  AddJob("b", 1, "{}", half);
  PassFacts facts = Facts();
  absl::Status sound = absl::UnknownError("not asked");
  becomes_ = [&](const Effect& effect) {
    const auto* plan = std::get_if<CommitPlan>(&effect);
    if (plan == nullptr) return EffectOutcome::Result::kDone;
    if (plan->gang == GangOf("a")) return EffectOutcome::Result::kLeft;
    sound = plan::VerifyPlacement(*facts.snapshot, plan->job, plan->plan.host_of_rank, false);
    return EffectOutcome::Result::kDone;
  };
  PlaceQueue(facts);
  const auto plans = Asked<CommitPlan>();
  ASSERT_EQ(plans.size(), 2u);
  ASSERT_EQ(plans[0].plan.host_of_rank, plans[1].plan.host_of_rank) << "they share a host";
  EXPECT_TRUE(sound.ok()) << sound;
  EXPECT_EQ(Reserved(facts), 1) << "once the queue is through";
}

TEST_F(PlacementStepTest, AGangThatMakesThePlanThrowIsIsolatedAndTheOthersArePlaced) {
  AddJob("bad", 1);
  AddJob("good", 1);
  PassFacts facts = Facts();
  PlacementStep step(plan::PlanOptions{}, PreemptionDecider::Options{}, ThrowingFor("bad"));
  PlaceQueue(facts, step);
  const auto isolated = Asked<IsolateGang>();
  ASSERT_EQ(isolated.size(), 1u);
  EXPECT_EQ(isolated[0].gang, GangOf("bad"));
  EXPECT_THAT(PlacedInOrder(), ElementsAre("trainingjob-good"));
}

TEST_F(PlacementStepTest, APlanThatThrowsWithoutTheQueueIsNoGangsFault) {
  AddJob("a", 1);
  AddJob("b", 1);
  PassFacts facts = Facts();
  int plans = 0;
  PlacementStep step(plan::PlanOptions{}, PreemptionDecider::Options{},
                     [&](const plan::Snapshot&, const plan::PlanOptions&) -> plan::Plan {
                       if (++plans > 100) ADD_FAILURE() << "it is planned for ever";
                       if (plans > 100) return {};
                       throw std::runtime_error("no network");
                     });
  EXPECT_THROW(Run(step.PlanQueue(facts), facts), std::runtime_error);
  EXPECT_TRUE(Asked<IsolateGang>().empty());
  Run(step.PlaceQueue(facts), facts);
  EXPECT_TRUE(PlacedInOrder().empty());
}

TEST_F(PlacementStepTest, APlanThatStillThrowsOnceItsCauseIsIsolatedIsNotMadeAThirdTime) {
  AddJob("a", 1);
  AddJob("b", 1);
  AddJob("c", 1);
  PassFacts facts = Facts();
  // One throws alone; of the others any two do.
  int whole = 0;
  PlacementStep step(plan::PlanOptions{}, PreemptionDecider::Options{},
                     [&](const plan::Snapshot& snapshot, const plan::PlanOptions& options) {
                       std::size_t planned = 0;
                       for (const plan::JobState& job : snapshot.jobs) {
                         if (!job.problems.empty()) continue;
                         if (job.job.key == GangOf("a")) throw std::out_of_range("alone");
                         ++planned;
                       }
                       if (planned < 2) return plan::MakePlan(snapshot, options);
                       ++whole;
                       throw std::out_of_range("together");
                     });
  EXPECT_THROW(Run(step.PlanQueue(facts), facts), std::out_of_range);
  EXPECT_EQ(whole, 1);
}

TEST_F(PlacementStepTest, APreemptionThatTheVerifierRefusesIsAnErrorAndStopsNoGang) {
  AddJob("low", 6, "{}", {{"preemptible", true}});
  PassFacts facts = Facts();
  PlaceQueue(facts);
  AddJob("high", 3, kSegmentRequired, {{"priority", 10}});
  PassFacts both = Facts();
  effects_.clear();
  PlacementStep step(plan::PlanOptions{}, PreemptionDecider::Options{},
                     [](const plan::Snapshot& snapshot, const plan::PlanOptions& options) {
                       plan::Plan plan = plan::MakePlan(snapshot, options);
                       for (plan::JobPlan& job : plan.jobs) {
                         if (!job.preemption) continue;
                         auto& hosts = job.preemption->gang.host_of_rank;
                         hosts[1] = hosts[0];
                       }
                       return plan;
                     });
  PlaceQueue(both, step);
  EXPECT_EQ(CountDecisions(), 0);
  EXPECT_EQ(Asked<ReportError>().size(), 1u);
}

TEST_F(PlacementStepTest, NoRankMovesOfAGangThatHasToStopSinceTheWorkBegan) {
  AddJob("a", 2);
  PassFacts facts = Facts();
  PlaceQueue(facts);
  const std::string lost = facts.gangs.at(GangOf("a"))->status.assignments[1].host;
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/false);
  PassFacts next = Facts();
  effects_.clear();
  const std::vector<Work> works = step_.MoveRanks(next);
  ASSERT_EQ(works.size(), 1u);
  Apply(GangMarked{GangOf("a"), GangMark::kStopping}, next);
  Run(works, next);
  EXPECT_TRUE(effects_.empty());
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
