#include "pkg/extender/steps/preemption_step.h"

#include "gtest/gtest.h"

#include "pkg/extender/testing/preemption_fixture.h"
#include "pkg/extender/webhook/decisions.h"
#include "pkg/kube/testing/kill_at_write.h"

namespace yardmaster::extender {
namespace {

TEST_F(PreemptionTest, TheDecisionIsOnTheLedgerBeforeAnyPodIsStopped) {
  AddLow();
  AddHigh();
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.preemptions, 1) << Join(report.errors, "\n");
  EXPECT_EQ(report.evicted_pods, 0);
  EXPECT_EQ(Bound("low"), 6);
  const json preemption = GangStatus("high")["preemption"];
  ASSERT_EQ(preemption["victims"].size(), 1u);
  EXPECT_EQ(preemption["victims"][0]["name"], "trainingjob-low");
  EXPECT_EQ(preemption["hosts"].size(), 3u);
  EXPECT_EQ(Condition("high", api::kPreemptingCondition)["status"], "True");
  EXPECT_EQ(CountNotices("Preempting"), 1);
  // The kept hosts are refused to all others.
  for (const json& host : preemption["hosts"]) {
    EXPECT_EQ(CheckNode(*view_, {std::nullopt, -1, 1}, host.get<std::string>()),
              NodeVerdict::kReserved);
  }
}

TEST_F(PreemptionTest, TheVictimIsToldEvictedAndQueuedAgainAndTheOtherTakesItsPlace) {
  AddLow();
  AddHigh();
  PassOfANewProcess();
  const PassReport stopping = PassOfANewProcess();
  EXPECT_EQ(stopping.evicted_pods, 6);
  EXPECT_EQ(Condition("low", api::kPreemptedCondition)["status"], "True");
  EXPECT_EQ(CountNotices("Preempted"), 1);
  EXPECT_TRUE(Placed("low")) << "until its pods are known to be gone it holds its hosts";
  OthersMove();
  const PassReport placing = PassOfANewProcess();
  EXPECT_EQ(placing.committed, 1) << Join(placing.errors, "\n");
  EXPECT_TRUE(Placed("high"));
  EXPECT_FALSE(GangStatus("high").contains("preemption"));
  EXPECT_EQ(Condition("high", api::kPreemptingCondition)["status"], "False");
  EXPECT_FALSE(Placed("low"));
  EXPECT_EQ(Condition("low", "Planned")["status"], "False");
  RunUntilStable();
  EXPECT_EQ(Bound("high"), 3);
  EXPECT_EQ(Bound("low"), 0);
  // When the other has finished the victim has its turn again.
  Finish("high");
  PassOfANewProcess();
  EXPECT_TRUE(Placed("low"));
  EXPECT_EQ(Condition("low", api::kPreemptedCondition)["reason"], "PlacedAgain");
}

TEST_F(PreemptionTest, KilledAtAnyWriteTheNextProcessFinishesAndNoHostIsPromisedOrUsedTwice) {
  for (int killed_at = 1;; ++killed_at) {
    SCOPED_TRACE(StrCat("killed at write ", killed_at));
    DeleteAllJobs();
    AddLow();
    AddHigh();
    int writes = 0;
    {
      kube::KillAtWrite kill(client_, killed_at - 1, absl::UnavailableError("killed"));
      for (int pass = 0; pass < 4 && kill.writes() < killed_at; ++pass) {
        PassOfANewProcess();
        OthersMove();
      }
      writes = kill.writes();
    }
    RunUntilStable();
    EXPECT_TRUE(Placed("high"));
    EXPECT_EQ(Bound("high"), 3);
    EXPECT_FALSE(Placed("low"));
    EXPECT_EQ(Bound("low"), 0);
    if (writes < killed_at) break;  // it was never killed
  }
}

TEST_F(PreemptionTest, ALostAnswerToTheDecisionOrToTheRevocationIsNotASecondOne) {
  AddLow();
  AddHigh();
  client_.FailNext(kube::Verb::kReplace, "gangs/status", absl::UnavailableError("lost"), 3,
                   kube::FaultWhen::kAfterEffect);
  RunUntilStable();
  EXPECT_TRUE(Placed("high"));
  EXPECT_FALSE(Placed("low"));
  EXPECT_EQ(GangStatus("high")["planGeneration"], 1);
}

TEST_F(PreemptionTest, GangsOfEqualPriorityAreLeftAloneAndSoAreAllByThosePolicyNever) {
  AddLow({{"priority", 10}});
  AddHigh();
  EXPECT_EQ(PassOfANewProcess().preemptions, 0);
  AddHigh("never", {{"priority", 20}, {"preemptionPolicy", "Never"}});
  EXPECT_EQ(PassOfANewProcess().preemptions, 0);
}

TEST_F(PreemptionTest, ABudgetThatDoesNotAllowAllPodsAtOncePreventsTheDecision) {
  AddLow();
  AddBudget(5);
  AddHigh();
  RunUntilStable();
  EXPECT_FALSE(GangStatus("high").contains("preemption"));
  EXPECT_EQ(Bound("low"), 6);
  AddBudget(6);
  RunUntilStable();
  EXPECT_TRUE(Placed("high"));
}

TEST_F(PreemptionTest, ABudgetThatComesAfterTheDecisionEndsItBeforeAnyEviction) {
  AddLow();
  AddHigh();
  PassOfANewProcess();
  AddBudget(0);
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.evicted_pods, 0);
  EXPECT_EQ(report.preemptions_given_up, 1);
  const json condition = Condition("high", api::kPreemptingCondition);
  EXPECT_EQ(condition["status"], "False");
  EXPECT_EQ(condition["reason"], "EvictionRefused");
  EXPECT_NE(condition["message"].get<std::string>().find("team/budget"), std::string::npos);
  RunUntilStable();
  EXPECT_EQ(Bound("low"), 6);
  EXPECT_NE(Condition("low", api::kPreemptedCondition)["status"], "True");
}

TEST_F(PreemptionTest, AfterARefusedEvictionTheVictimKeepsItsPlaceWholeAndIsLeftAloneForAWhile) {
  AddLow();
  AddHigh();
  PassOfANewProcess();
  const json before = Slots("low");
  int evictions = 0;
  client_.SetHook([&](const kube::Call& call) -> absl::Status {
    if (call.target.subresource != "eviction" || ++evictions < 3) return absl::OkStatus();
    return absl::ResourceExhaustedError("Cannot evict pod: pod's disruption budget");
  });
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.evicted_pods, 2);
  EXPECT_EQ(report.preemptions_given_up, 1);
  RunUntilStable();
  EXPECT_EQ(Bound("low"), 6) << "the two pods were made again where they had been";
  EXPECT_EQ(Slots("low"), before);
  EXPECT_EQ(evictions, 3) << "not tried again at once";
  EXPECT_EQ(Condition("low", api::kPreemptedCondition)["reason"], "PreemptionCancelled");
  client_.SetHook(nullptr);
  clock_.Advance(61'000);
  RunUntilStable();
  EXPECT_TRUE(Placed("high"));
}

TEST_F(PreemptionTest, ABusyApiServerIsNoRefusal) {
  AddLow();
  AddHigh();
  PassOfANewProcess();
  client_.FailNext(kube::Verb::kCreate, "pods/eviction", absl::ResourceExhaustedError("busy"), 2);
  EXPECT_FALSE(PassOfANewProcess().errors.empty());
  RunUntilStable();
  EXPECT_TRUE(Placed("high"));
}

TEST_F(PreemptionTest, IfTheOtherGoesAwayTheVictimKeepsItsPlace) {
  AddLow();
  AddHigh();
  PassOfANewProcess();
  const json before = Slots("low");
  DeletePod("high-1");
  ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "high", ""}, {}).ok());
  RunUntilStable();
  EXPECT_EQ(Slots("low"), before);
  EXPECT_EQ(Bound("low"), 6);
  EXPECT_EQ(Condition("high", api::kPreemptingCondition)["reason"], "NoLongerWaiting");
}

TEST_F(PreemptionTest, TwoThatWaitNeverStopGangsForOnePlace) {
  AddLow();
  AddHigh("high");
  AddHigh("other");
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.preemptions, 1) << "once the first victim is gone there is room for both";
  RunUntilStable();
  EXPECT_TRUE(Placed("high"));
  EXPECT_TRUE(Placed("other"));
  EXPECT_EQ(CountNotices("Preempted"), 1);
}

TEST_F(PreemptionTest, AJobBehindTheOneThatGetsRoomDoesNotTakeItsPlaceInTheSamePass) {
  AddJob("dear", 3, kInOneSegment, {{"priority", 5}});
  AddJob("cheap", 2);
  PassOfANewProcess();
  RunReleasedPods();
  ASSERT_TRUE(Placed("cheap"));
  // Room for `high` is two hosts of `cheap` and the free one beside them, which `behind` would fit.
  AddHigh();
  AddJob("behind", 1);
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.preemptions, 1) << Join(report.errors, "\n");
  EXPECT_FALSE(Placed("behind"));
  EXPECT_NE(
      Condition("behind", "Planned")["message"].get<std::string>().find("TrainingJob team/high"),
      std::string::npos);
  const json preemption = GangStatus("high")["preemption"];
  ASSERT_EQ(preemption["victims"].size(), 1u);
  EXPECT_EQ(preemption["victims"][0]["name"], "trainingjob-cheap");
  RunUntilStable();
  EXPECT_TRUE(Placed("dear"));
  EXPECT_EQ(Bound("high"), 3);
  EXPECT_FALSE(Placed("behind"));
  EXPECT_FALSE(Placed("cheap"));
}

TEST_F(PreemptionTest, AJobOfLowerPriorityDoesNotTakeWhatIsFreedForTwoThatGoBefore) {
  AddLow();
  AddHigh("high");
  AddHigh("other");
  PassOfANewProcess();
  // `other` has no decision of its own: it fits once the victim of `high` has left.
  AddJob("behind", 3, kInOneSegment, {{"priority", 5}});
  RunUntilStable();
  EXPECT_TRUE(Placed("high"));
  EXPECT_TRUE(Placed("other"));
  EXPECT_FALSE(Placed("behind"));
}

TEST_F(PreemptionTest, IfTheDecisionCannotBeWrittenNoneThatCountsOnItIs) {
  AddJob("a", 3, kInOneSegment);
  AddJob("b", 3, kInOneSegment);
  PassOfANewProcess();
  RunReleasedPods();
  AddHigh("high");
  AddHigh("next");
  // Both need victims of their own. Why `high` waits is written before its decision is.
  int writes = 0;
  client_.SetHook([&](const kube::Call& call) -> absl::Status {
    const bool of_high =
        call.verb == kube::Verb::kReplace && call.target.name == "trainingjob-high";
    return of_high && ++writes == 2 ? absl::AbortedError("conflict") : absl::OkStatus();
  });
  EXPECT_EQ(PassOfANewProcess().preemptions, 0);
  EXPECT_FALSE(GangStatus("high").contains("preemption"));
  EXPECT_FALSE(GangStatus("next").contains("preemption"));
  client_.SetHook(nullptr);
  EXPECT_EQ(PassOfANewProcess().preemptions, 2);
  RunUntilStable();
  EXPECT_TRUE(Placed("high"));
  EXPECT_TRUE(Placed("next"));
}

TEST_F(PreemptionTest, WhoCouldNotBeHelpedIsAskedAboutAgainAfterAWhileAndOthersAtOnce) {
  AddLow();
  AddBudget(0);
  AddHigh("high");
  Process process(*this, /*leader=*/true);
  const auto budgets_read = [&] {
    client_.ClearCalls();
    process.Pass();
    return client_.CountCalls(kube::Verb::kList, "poddisruptionbudgets");
  };
  process.Pass();  // gathers the gang and tries
  EXPECT_EQ(budgets_read(), 0);
  AddHigh("other");
  EXPECT_EQ(budgets_read(), 1);
  EXPECT_EQ(budgets_read(), 0);
  clock_.Advance(1'001);
  EXPECT_EQ(budgets_read(), 1);
}

TEST_F(PreemptionTest, TheCheapestGangsThatFreeOnePlaceAreStopped) {
  AddJob("a", 3, kInOneSegment, {{"priority", 1}});
  AddJob("b", 1);
  AddJob("c", 2);
  PassOfANewProcess();
  RunReleasedPods();
  AddHigh();
  RunUntilStable();
  EXPECT_TRUE(Placed("a")) << "of higher priority than b and c, which free a segment, too";
  EXPECT_FALSE(Placed("b"));
  EXPECT_FALSE(Placed("c"));
  EXPECT_TRUE(Placed("high"));
}

TEST_F(PreemptionTest, APlaceThatIsLostMeanwhileEndsTheDecision) {
  AddJob("low", 3, kInOneSegment);
  PassOfANewProcess();
  RunReleasedPods();
  AddJob("equal", 3, kInOneSegment, {{"priority", 10}});
  PassOfANewProcess();
  RunReleasedPods();
  AddHigh();
  PassOfANewProcess();
  PassOfANewProcess();
  const std::string host = GangStatus("high")["preemption"]["hosts"][0];
  AddNode(host[1] - '0', host[3] - '0', /*ready=*/false);
  OthersMove();
  PassOfANewProcess();
  EXPECT_FALSE(GangStatus("high").contains("preemption"));
  EXPECT_EQ(Condition("high", api::kPreemptingCondition)["reason"], "PlaceLost");
  EXPECT_FALSE(Placed("high"));
}

// `main` runs on all ordinary hosts, `borrower` on the backup hosts, until `main` loses a host and
// rank 0 waits for another one.
class LentSparesTest : public PreemptionTest {
 protected:
  void LendAndLoseAHost() {
    AddFabric();
    AddJob("main", 6, "{}", {{"priority", 10}});
    PassOfANewProcess();
    AddJob("borrower", 2, "{}", {{"preemptible", true}});
    PassOfANewProcess();
    RunReleasedPods();
    ASSERT_TRUE(Placed("borrower")) << "on the backup hosts";
    lost_ = Slots("main")[0]["host"];
    SetReady(false);
    DeletePod("main-0");
    MakeMissingPods();
  }
  void SetReady(bool ready) { AddNode(lost_[1] - '0', lost_[3] - '0', ready); }
  std::string lost_;
};

TEST_F(LentSparesTest, TheyAreTakenBackForALostRankAndTheBorrowerWaitsAgain) {
  LendAndLoseAHost();
  EXPECT_EQ(PassOfANewProcess().preemptions, 1);
  RunUntilStable();
  EXPECT_FALSE(Placed("borrower"));
  EXPECT_NE(Slots("main")[0]["host"], lost_);
  EXPECT_EQ(Bound("main"), 6);
}

TEST_F(LentSparesTest, TheyAreNotTakenBackOnceTheLostHostIsThereAgain) {
  LendAndLoseAHost();
  AddBudget(0);
  PassOfANewProcess();
  ASSERT_TRUE(GangStatus("main").contains("preemption"));
  SetReady(true);
  // The decision is already being carried out, or not: either way both end up whole.
  RunUntilStable();
  EXPECT_FALSE(GangStatus("main").contains("preemption"));
  EXPECT_EQ(Bound("main"), 6);
}

}  // namespace
}  // namespace yardmaster::extender
