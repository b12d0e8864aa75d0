// Jobs and JobSets in a queue of Kueue itself: it says when they run, Yardmaster where.
#include "test/kinds/kinds_fixture.h"

namespace yardmaster::testing {
namespace {

TEST_F(RealKindsTest, AJobWaitsForItsQuotaWithoutPodsAndHosts) {
  Create(Queued(IndexedJob("first", 6)));
  ASSERT_TRUE(Runs("first", 6));
  Create(Queued(TwoJobs("second", 3)));
  ASSERT_TRUE(WaitFor(
      kLongPatience, [] { return ConditionOf(WorkloadOf("second"), "QuotaReserved") == "False"; }));
  EXPECT_TRUE(LivePods("second").empty());
  EXPECT_TRUE(HostsHeldBy("jobset-second").empty());
  DeleteWithoutWaiting("job", "first");
  EXPECT_TRUE(Runs("second", 6));
  ExpectPromisesKept();
  ExpectFinished();
}

TEST_F(RealKindsTest, APreemptedJobSetGivesItsHostsBackAndReturns) {
  Create(Queued(TwoJobs("low", 3)));
  ASSERT_TRUE(Runs("low", 6));
  const std::set<std::string> first = Uids("low");
  Create(Queued(IndexedJob("high", 8), "high"));
  ASSERT_TRUE(Runs("high", 8)) << WorkloadOf("high").dump(1);
  EXPECT_TRUE(HoldsNothing("low", "jobset-low"));
  EXPECT_EQ(ConditionOf(WorkloadOf("low"), "Preempted"), "True");
  ExpectPromisesKept();
  DeleteWithoutWaiting("job", "high");
  EXPECT_TRUE(RunsAnew("low", 6, first));
  ExpectFinished();
}

TEST_F(RealKindsTest, AJobThatIsEvictedWhileItIsReleasedRunsInTheEnd) {
  Create(Queued(TwoJobs("s", 3)));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(WaitFor(kLongPatience,
                        [] { return !LivePods("s").empty(); }));  // at any stage of their release
    const std::string workload = WorkloadOf("s")["metadata"]["name"];
    Patch("workloads.kueue.x-k8s.io", workload, {{"spec", {{"active", false}}}});
    ASSERT_TRUE(HoldsNothing("s", "jobset-s"));
    Patch("workloads.kueue.x-k8s.io", workload, {{"spec", {{"active", true}}}});
  }
  EXPECT_TRUE(Runs("s", 6));
  ExpectPromisesKept();
  ExpectFinished();
}

// A TrainingJob, of which Kueue knows nothing, has the hosts: admitted jobs find no place.
TEST_F(RealKindsTest, AJobThatFindsNoHostsInTimeGivesItsQuotaBackAndTriesAgain) {
  ASSERT_TRUE(cluster_->plane()
                  .Apply(TrainingJob("big", 20, R"("parallelism": {"tensor": 8, "data": 20},
      "placement": {"data": {"within": "Fabric"}})"))
                  .ok());
  ASSERT_TRUE(Runs("big", 20));
  Create(Queued(IndexedJob("j", 6)));
  ASSERT_TRUE(WaitFor(kLongPatience, [] {
    return WorkloadOf("j").dump().find("PodsReadyTimeout") != std::string::npos;
  })) << WorkloadOf("j").dump(1);
  EXPECT_TRUE(HostsHeldBy("job-j").empty());
  DeleteWithoutWaiting("trainingjob", "big");
  EXPECT_TRUE(Runs("j", 6)) << WorkloadOf("j").dump(1);
  ExpectPromisesKept();
  ExpectFinished();
}

}  // namespace
}  // namespace yardmaster::testing
