// TrainingJobs in a queue of Kueue itself: the operator makes and follows their Workloads.
#include "test/kinds/kinds_fixture.h"

namespace yardmaster::testing {
namespace {

std::string PhaseOf(const json& job) { return job.value("/status/queue/phase"_json_pointer, ""); }

class QueuedTrainingJobTest : public RealKindsTest {
 protected:
  static bool IsAwaitingQuota(const std::string& name) {
    return WaitFor(kLongPatience, [&] {
      return Job(name).dump().find("AwaitingQuota") != std::string::npos &&
             ConditionOf(WorkloadOf(name), "QuotaReserved") == "False";
    });
  }
  static std::string Everything(const std::string& name) {
    return StrCat(Job(name).dump(1), "\n", WorkloadOf(name).dump(1));
  }
};

TEST_F(QueuedTrainingJobTest, WaitsForItsQuotaWithoutPodsAndHosts) {
  Create(Queued(IndexedJob("first", 6)));
  ASSERT_TRUE(Runs("first", 6));
  Create(Queued(OurJob("second", 6)));
  ASSERT_TRUE(IsAwaitingQuota("second")) << Everything("second");
  EXPECT_TRUE(LivePods("second").empty());
  EXPECT_TRUE(HostsHeldBy("trainingjob-second").empty());
  DeleteWithoutWaiting("job", "first");
  EXPECT_TRUE(Runs("second", 6)) << Everything("second");
  EXPECT_TRUE(WaitFor(kLongPatience, [] {
    return ConditionOf(WorkloadOf("second"), "PodsReady") == "True";
  })) << Everything("second");
  EXPECT_EQ(PhaseOf(Job("second")), "Admitted");
  ExpectPromisesKept();
  ExpectFinished();
}

TEST_F(QueuedTrainingJobTest, GivesWayToAJobOfHigherPriorityAndReturns) {
  Create(Queued(OurJob("low", 6)));
  ASSERT_TRUE(Runs("low", 6)) << Everything("low");
  const std::set<std::string> first = Uids("low");
  Create(Queued(IndexedJob("high", 8), "high"));
  ASSERT_TRUE(Runs("high", 8)) << WorkloadOf("high").dump(1) << Everything("low");
  EXPECT_TRUE(HoldsNothing("low", "trainingjob-low"));
  ASSERT_TRUE(IsAwaitingQuota("low")) << Everything("low");
  ExpectPromisesKept();
  DeleteWithoutWaiting("job", "high");
  EXPECT_TRUE(RunsAnew("low", 6, first)) << Everything("low");
  ExpectFinished();
}

TEST_F(QueuedTrainingJobTest, TakesQuotaFromAJobOfLowerPriority) {
  Create(Queued(TwoJobs("low", 3)));
  ASSERT_TRUE(Runs("low", 6));
  Create(Queued(OurJob("high", 8), "high"));
  EXPECT_TRUE(Runs("high", 8)) << Everything("high");
  EXPECT_TRUE(HoldsNothing("low", "jobset-low"));
  ExpectPromisesKept();
}

TEST_F(QueuedTrainingJobTest, RunsAgainAfterItsWorkloadWasDeleted) {
  Create(Queued(OurJob("j", 4)));
  ASSERT_TRUE(Runs("j", 4)) << Everything("j");
  const std::set<std::string> first = Uids("j");
  const json before = WorkloadOf("j");
  DeleteWithoutWaiting("workloads.kueue.x-k8s.io", before["metadata"]["name"]);
  EXPECT_TRUE(RunsAnew("j", 4, first)) << Everything("j");
  EXPECT_NE(WorkloadOf("j")["metadata"]["uid"], before["metadata"]["uid"]);
  ExpectPromisesKept();
  ExpectFinished();
}

TEST_F(QueuedTrainingJobTest, IsStoppedAndStartedByItsWorkload) {
  Create(Queued(OurJob("j", 4)));
  ASSERT_TRUE(Runs("j", 4)) << Everything("j");
  const std::set<std::string> first = Uids("j");
  const std::string workload = WorkloadOf("j")["metadata"]["name"];
  Patch("workloads.kueue.x-k8s.io", workload, {{"spec", {{"active", false}}}});
  ASSERT_TRUE(HoldsNothing("j", "trainingjob-j")) << Everything("j");
  Patch("workloads.kueue.x-k8s.io", workload, {{"spec", {{"active", true}}}});
  EXPECT_TRUE(RunsAnew("j", 4, first)) << Everything("j");
  ExpectFinished();
}

TEST_F(QueuedTrainingJobTest, GivesItsQuotaBackWhenItIsSuspendedAndWhenItEnds) {
  Create(Queued(OurJob("first", 6)));
  ASSERT_TRUE(Runs("first", 6)) << Everything("first");
  Patch("trainingjob", "first", {{"spec", {{"suspend", true}}}});
  ASSERT_TRUE(HoldsNothing("first", "trainingjob-first")) << Everything("first");
  Create(Queued(OurJob("second", 6)));
  ASSERT_TRUE(Runs("second", 6)) << Everything("second");
  Patch("trainingjob", "first", {{"spec", {{"suspend", false}}}});
  ASSERT_TRUE(IsAwaitingQuota("first")) << Everything("first");
  for (const json& pod : LivePods("second")) {
    const auto done =
        cluster_->plane().Kubectl({"annotate", "pod", "-n", "team", pod["metadata"]["name"],
                                   "pod-complete.stage.kwok.x-k8s.io/delay=0s"});
    ASSERT_TRUE(done.ok()) << done.status();
  }
  EXPECT_TRUE(WaitFor(kLongPatience, [] {
    return ConditionOf(WorkloadOf("second"), "Finished") == "True";
  })) << Everything("second");
  EXPECT_TRUE(Runs("first", 6)) << Everything("first");
  ExpectPromisesKept();
}

// Kueue admits the job, but another job has the hosts.
TEST_F(QueuedTrainingJobTest, FindsNoHostsInTimeAndGivesItsQuotaBack) {
  Create(OurJob("big", 20));
  ASSERT_TRUE(Runs("big", 20));
  Create(Queued(OurJob("j", 6)));
  ASSERT_TRUE(WaitFor(kLongPatience, [] {
    return WorkloadOf("j").dump().find("PodsReadyTimeout") != std::string::npos;
  })) << Everything("j");
  DeleteWithoutWaiting("trainingjob", "big");
  EXPECT_TRUE(Runs("j", 6)) << Everything("j");
  ExpectPromisesKept();
  ExpectFinished();
}

}  // namespace
}  // namespace yardmaster::testing
