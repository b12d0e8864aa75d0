#include "pkg/operator/queue/queue_step.h"

#include "gtest/gtest.h"

namespace yardmaster::op {
namespace {

using api::Condition;
using api::ConditionStatus;
using api::QueuePhase;

constexpr std::int64_t kNowMs = 1'800'000'000'000;

class QueueStepTest : public ::testing::Test {
 protected:
  QueueStepTest() {
    facts_.queue = "research";
    facts_.idle = facts_.enters = true;
    facts_.workload_name = "trainingjob-a-12345";
    facts_.pod_sets_hash = "hash";
    workload_.metadata.name = facts_.workload_name;
    workload_.metadata.uid = "w1";
    workload_.metadata.finalizers = {api::kQuotaFinalizer};
    workload_.metadata.annotations = {{api::kPodSetsAnnotation, "hash"}};
    workload_.queue = "research";
    workload_.pod_sets = {{"main", 4}};
  }

  // The job as the phase leaves it; pods only where it may have some.
  void Be(QueuePhase phase) {
    facts_.status.phase = phase;
    facts_.status.name = facts_.queue;
    facts_.status.workload = facts_.workload_name;
    facts_.enters = phase == QueuePhase::kNone;
    if (phase != QueuePhase::kAdmitted) return;
    facts_.status.workload_uid = "w1";
    facts_.status.pod_sets = {{"main", 4}};
    facts_.idle = false;
    facts_.has_live_pods = true;
  }
  void Set(const char* type, bool value, const char* reason = "Reason", const char* message = "") {
    api::SetCondition(
        workload_.conditions,
        {type, value ? ConditionStatus::kTrue : ConditionStatus::kFalse, reason, message, 1, 0},
        kNowMs);
  }
  void Admit() {
    workload_.has_admission = true;
    workload_.cluster_queue = "gpus";
    workload_.assignments = {{"main", {"h100"}, 4}};
    Set(api::kWorkloadQuotaReserved, true);
    Set(api::kWorkloadAdmitted, true);
    Set(api::kWorkloadEvicted, false);
  }
  void Evict(const char* reason = "Preempted") {
    Admit();
    Set(api::kWorkloadEvicted, true, reason, "to make room");
  }
  QueueStep Step(bool with_workload = true) {
    facts_.workload = with_workload ? &workload_ : nullptr;
    const QueueStep step = NextQueueStep(facts_);
    const QueueStep again = NextQueueStep(facts_);
    EXPECT_EQ(step.status, again.status);
    EXPECT_EQ(step.action, again.action);
    return step;
  }
  void End() { workload_.metadata.deleted_ms = kNowMs; }

  QueueFacts facts_;
  api::KueueWorkload workload_;
};

TEST_F(QueueStepTest, AJobThatNamesAQueueWaitsAndIsGivenAWorkload) {
  const QueueStep step = Step(false);
  EXPECT_EQ(step.status.phase, QueuePhase::kPending);
  EXPECT_EQ(step.status.name, "research");
  EXPECT_EQ(step.status.workload, "trainingjob-a-12345");
  EXPECT_EQ(step.action, QueueAction::kCreate);
  EXPECT_TRUE(step.status.holds_job());
}

TEST_F(QueueStepTest, AJobThatRunsAlreadyStaysOutOfTheQueue) {
  facts_.enters = facts_.idle = false;
  const QueueStep step = Step(false);
  EXPECT_EQ(step.status, api::QueueStatus());
  EXPECT_EQ(step.action, QueueAction::kNone);
}

TEST_F(QueueStepTest, AJobWithoutAQueueHasNoWorkload) {
  facts_.queue = "";
  EXPECT_EQ(Step(false).action, QueueAction::kNone);
  EXPECT_EQ(Step().action, QueueAction::kDelete);
  End();
  EXPECT_EQ(Step().action, QueueAction::kDropFinalizer);
}

TEST_F(QueueStepTest, AJobThatWaitsSaysWhatKueueSays) {
  Be(QueuePhase::kPending);
  EXPECT_EQ(Step().status.message, "waits for quota in queue research");
  Set(api::kWorkloadQuotaReserved, false, "Pending", "insufficient quota for nvidia.com/gpu");
  const QueueStep step = Step();
  EXPECT_EQ(step.status.message,
            "waits for quota in queue research: insufficient quota for nvidia.com/gpu");
  EXPECT_EQ(step.action, QueueAction::kNone);
}

TEST_F(QueueStepTest, AReservationWithoutItsAdmissionChecksIsNotAnAdmission) {
  Be(QueuePhase::kPending);
  workload_.has_admission = true;
  Set(api::kWorkloadQuotaReserved, true, "QuotaReserved", "Quota reserved");
  EXPECT_EQ(Step().action, QueueAction::kNone);
  Set(api::kWorkloadAdmitted, false, "UnsatisfiedAdmissionChecks", "not all checks are ready");
  const QueueStep step = Step();
  EXPECT_EQ(step.action, QueueAction::kNone);
  EXPECT_EQ(step.status.message, "waits for quota in queue research: not all checks are ready");
}

TEST_F(QueueStepTest, AnAdmissionIsRecordedOnceTheStatusSaysThatTheJobWaits) {
  Admit();
  EXPECT_EQ(Step().action, QueueAction::kNone) << "it has to enter its queue first";
  EXPECT_EQ(Step().status.phase, QueuePhase::kPending);
  Be(QueuePhase::kPending);
  EXPECT_EQ(Step().action, QueueAction::kAdmit);
  facts_.idle = false;
  EXPECT_EQ(Step().action, QueueAction::kNone) << "pods of its last run are ending";
}

TEST_F(QueueStepTest, AnAdmittedJobIsLeftAlone) {
  Be(QueuePhase::kAdmitted);
  Admit();
  const QueueStep step = Step();
  EXPECT_EQ(step.status, facts_.status);
  EXPECT_EQ(step.action, QueueAction::kNone);
}

TEST_F(QueueStepTest, AnEvictedJobKeepsItsQuotaUntilItHasNoPods) {
  Be(QueuePhase::kAdmitted);
  Evict();
  QueueStep step = Step();
  EXPECT_EQ(step.status.phase, QueuePhase::kEvicted);
  EXPECT_TRUE(step.status.pod_sets.empty());
  EXPECT_NE(step.status.message.find("to make room"), std::string::npos);
  EXPECT_EQ(step.action, QueueAction::kNone);
  facts_.status = step.status;
  EXPECT_EQ(Step().action, QueueAction::kNone);
  facts_.idle = true;
  step = Step();
  EXPECT_EQ(step.status.phase, QueuePhase::kPending);
  EXPECT_EQ(step.action, QueueAction::kGiveBack);
  facts_.status = step.status;
  EXPECT_EQ(Step().action, QueueAction::kGiveBack) << "the write may have been lost";
  workload_.has_admission = false;
  Set(api::kWorkloadQuotaReserved, false);
  EXPECT_EQ(Step().action, QueueAction::kNone);
}

TEST_F(QueueStepTest, QuotaIsNotGivenBackInTheLookThatEndsTheAdmission) {
  Be(QueuePhase::kAdmitted);
  Evict();
  facts_.idle = true;  // the pods are about to be made
  const QueueStep step = Step();
  EXPECT_EQ(step.status.phase, QueuePhase::kEvicted);
  EXPECT_EQ(step.action, QueueAction::kNone);
}

TEST_F(QueueStepTest, AnEvictionBeforeTheJobHadPodsGivesItsQuotaBackAtOnce) {
  Be(QueuePhase::kPending);
  Evict("AdmissionCheck");
  EXPECT_EQ(Step().action, QueueAction::kGiveBack);
}

TEST_F(QueueStepTest, AnAdmissionThatIsTakenAwayWithoutAnEvictionEndsThePods) {
  Be(QueuePhase::kAdmitted);
  EXPECT_EQ(Step().status.phase, QueuePhase::kEvicted);
  EXPECT_EQ(Step(false).status.phase, QueuePhase::kEvicted) << "its Workload is gone";
  Admit();
  workload_.metadata.uid = "w2";
  EXPECT_EQ(Step().status.phase, QueuePhase::kEvicted) << "another Workload than was recorded";
}

TEST_F(QueueStepTest, AWorkloadThatIsDeletedIsLetGoWhenNoPodIsLeftAndMadeAnew) {
  Be(QueuePhase::kAdmitted);
  Admit();
  End();
  QueueStep step = Step();
  EXPECT_EQ(step.status.phase, QueuePhase::kEvicted);
  EXPECT_EQ(step.action, QueueAction::kNone);
  facts_.status = step.status;
  EXPECT_EQ(Step().action, QueueAction::kNone);
  facts_.idle = true;
  step = Step();
  EXPECT_EQ(step.action, QueueAction::kDropFinalizer);
  facts_.status = step.status;
  EXPECT_EQ(Step(false).action, QueueAction::kCreate);
}

TEST_F(QueueStepTest, AnotherSizeQueueOrEndByOthersMakesTheWorkloadAnew) {
  for (int change = 0; change < 3; ++change) {
    Be(QueuePhase::kAdmitted);
    Admit();
    facts_.queue = change == 0 ? "other" : "research";
    facts_.pod_sets_hash = change == 1 ? "larger" : "hash";
    if (change == 2) Set(api::kWorkloadFinished, true);
    QueueStep step = Step();
    EXPECT_EQ(step.status.phase, QueuePhase::kEvicted) << change;
    EXPECT_EQ(step.action, QueueAction::kNone) << change;
    facts_.status = step.status;
    facts_.idle = true;
    step = Step();
    EXPECT_EQ(step.status.phase, QueuePhase::kPending) << change;
    EXPECT_EQ(step.action, QueueAction::kDelete) << change;
  }
}

TEST_F(QueueStepTest, AJobThatIsSuspendedHasNoWorkloadAndNoQueueAtTheEnd) {
  Be(QueuePhase::kAdmitted);
  Admit();
  facts_.suspended = true;
  QueueStep step = Step();
  EXPECT_EQ(step.status.phase, QueuePhase::kEvicted);
  EXPECT_EQ(step.action, QueueAction::kNone);
  facts_.status = step.status;
  facts_.idle = true;
  EXPECT_EQ(Step().action, QueueAction::kDelete);
  EXPECT_EQ(Step(false).status, api::QueueStatus());
}

TEST_F(QueueStepTest, AJobThatLeavesItsQueueKeepsItsQuotaUntilItHasNoPods) {
  Be(QueuePhase::kAdmitted);
  Admit();
  facts_.queue = "";
  EXPECT_EQ(Step().status, facts_.status);
  EXPECT_EQ(Step().action, QueueAction::kNone);
  facts_.idle = true;
  EXPECT_EQ(Step().status, api::QueueStatus());
}

TEST_F(QueueStepTest, AJobThatHasEndedFinishesItsWorkloadOnceNoPodRuns) {
  Be(QueuePhase::kAdmitted);
  Admit();
  facts_.ended = true;
  EXPECT_EQ(Step().action, QueueAction::kNone);
  facts_.has_live_pods = false;
  EXPECT_EQ(Step().action, QueueAction::kFinish);
  Set(api::kWorkloadFinished, true);
  EXPECT_EQ(Step().action, QueueAction::kDropFinalizer);
  workload_.metadata.finalizers.clear();
  EXPECT_EQ(Step().action, QueueAction::kNone);
  EXPECT_EQ(Step(false).action, QueueAction::kNone);
}

TEST_F(QueueStepTest, ReadinessIsReportedWhenItChanges) {
  Be(QueuePhase::kAdmitted);
  Admit();
  facts_.runs = true;
  EXPECT_EQ(Step().action, QueueAction::kReportReady);
  workload_.conditions = ConditionsWithReadiness(workload_, true, kNowMs);
  const Condition* ready = api::FindCondition(workload_.conditions, api::kWorkloadPodsReady);
  EXPECT_EQ(ready->reason, "Started");
  EXPECT_EQ(Step().action, QueueAction::kNone);
  facts_.runs = false;
  EXPECT_EQ(Step().action, QueueAction::kReportReady);
  workload_.conditions = ConditionsWithReadiness(workload_, false, kNowMs);
  EXPECT_EQ(Step().action, QueueAction::kNone);
  workload_.conditions = ConditionsWithReadiness(workload_, true, kNowMs);
  ready = api::FindCondition(workload_.conditions, api::kWorkloadPodsReady);
  EXPECT_EQ(ready->reason, "Recovered");
}

TEST_F(QueueStepTest, PodsThatHaveEndedForGoodAreReclaimedAndNeverTakenBack) {
  Be(QueuePhase::kAdmitted);
  Admit();
  facts_.in_use = {{"main", 3}};
  const QueueStep step = Step();
  EXPECT_EQ(step.action, QueueAction::kReclaim);
  EXPECT_EQ(step.reclaimable, (std::map<std::string, int>{{"main", 1}}));
  workload_.reclaimable = step.reclaimable;
  EXPECT_EQ(Step().action, QueueAction::kNone);
  facts_.in_use = {{"main", 4}};
  EXPECT_EQ(Step().action, QueueAction::kNone);
  facts_.in_use = {{"main", -2}};
  EXPECT_EQ(Step().reclaimable.at("main"), 4);
}

TEST_F(QueueStepTest, QuotaIsGivenBackWithAllConditionsThatDependOnIt) {
  for (const auto& [reason, requeued] :
       {std::pair("Preempted", true), std::pair("NodeFailures", true),
        std::pair("PodsReadyTimeout", false)}) {
    Evict(reason);
    Set(api::kWorkloadPodsReady, true);
    Set("Other", true, "Kept");
    const auto after = ConditionsWithoutQuota(workload_, kNowMs);
    for (const char* type :
         {api::kWorkloadQuotaReserved, api::kWorkloadAdmitted, api::kWorkloadPodsReady}) {
      EXPECT_EQ(api::FindCondition(after, type)->status, ConditionStatus::kFalse) << type;
    }
    EXPECT_TRUE(api::IsTrue(after, api::kWorkloadEvicted));
    EXPECT_TRUE(api::IsTrue(after, "Other"));
    EXPECT_EQ(api::IsTrue(after, api::kWorkloadRequeued), requeued) << reason;
    EXPECT_EQ(api::FindCondition(after, api::kWorkloadRequeued)->reason, reason);
  }
}

TEST_F(QueueStepTest, TheEndOfTheJobIsTheEndOfTheWorkload) {
  const auto failed = ConditionsWithEnd(workload_, false, "rank 3 failed", kNowMs);
  const Condition* end = api::FindCondition(failed, api::kWorkloadFinished);
  EXPECT_EQ(end->reason, "Failed");
  EXPECT_EQ(end->message, "rank 3 failed");
  EXPECT_EQ(
      api::FindCondition(ConditionsWithEnd(workload_, true, "", kNowMs), api::kWorkloadFinished)
          ->reason,
      "Succeeded");
}

TEST_F(QueueStepTest, PodSetsGetWhatTheirFlavorsAndChecksSay) {
  const auto toleration = [](const char* key) {
    return api::Toleration{key, api::TolerationOperator::kExists, "", "NoSchedule"};
  };
  workload_.pod_sets = {{"main", 4}, {"data", 2}};
  workload_.assignments = {{"data", {"cpu"}, 2}, {"main", {"fast", "h100"}, 3}};
  workload_.additions = {{"main", {{"l", "1"}}, {{"a", "2"}}, {{"pool", "p"}}, {toleration("b")}}};
  const std::map<std::string, api::ResourceFlavor> flavors = {
      {"cpu", {{{"kind", "cpu"}}, {}}},
      {"fast", {{{"disk", "fast"}}, {toleration("a")}}},
      {"h100", {{{"gpu", "h100"}}, {toleration("a")}}}};
  const auto sets = AdmittedPodSetsOf(workload_, flavors);
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].name, "main");
  EXPECT_EQ(sets[0].count, 3);
  EXPECT_EQ(sets[0].node_selector,
            (std::map<std::string, std::string>{{"disk", "fast"}, {"gpu", "h100"}, {"pool", "p"}}));
  EXPECT_EQ(sets[0].tolerations, (std::vector<api::Toleration>{toleration("a"), toleration("b")}));
  EXPECT_EQ(sets[0].labels.at("l"), "1");
  EXPECT_EQ(sets[0].annotations.at("a"), "2");
  EXPECT_EQ(sets[1].node_selector.at("kind"), "cpu");
  EXPECT_TRUE(AdmittedPodSetsOf(workload_, {}).empty()) << "a flavor is missing";
  workload_.assignments.pop_back();
  EXPECT_TRUE(AdmittedPodSetsOf(workload_, flavors).empty()) << "a pod set is missing";
}

}  // namespace
}  // namespace yardmaster::op
