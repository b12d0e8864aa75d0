// JobSets of the real controller, in no queue.
#include "pkg/api/suspended_wait.h"
#include "test/kinds/kinds_fixture.h"

namespace yardmaster::testing {
namespace {

TEST_F(RealKindsTest, AJobSetGoesBackToItsHostsAfterAPodFailed) {
  Create(TwoJobs("s", 2));
  ASSERT_TRUE(Runs("s", 4)) << cluster_->Get({"gang", "-n", "team", "jobset-s"}).dump(1);
  EXPECT_EQ(RunsOn("s"), HostsHeldBy("jobset-s"));
  const std::set<std::string> hosts = RunsOn("s");
  const std::set<std::string> first = Uids("s");
  FailAPod("s");
  ASSERT_TRUE(RunsAnew("s", 4, first));
  EXPECT_EQ(RunsOn("s"), hosts);
  EXPECT_EQ(cluster_->Get({"jobset", "-n", "team", "s"}).value("/status/restarts"_json_pointer, 0),
            1);
  ExpectPromisesKept();
  ExpectFinished();
}

TEST_F(RealKindsTest, AJobSetLeavesAHostThatIsLost) {
  Create(TwoJobs("s", 2));
  ASSERT_TRUE(Runs("s", 4));
  const std::string lost = *RunsOn("s").begin();
  SetReady(lost, false);
  EXPECT_TRUE(WaitFor(kLongPatience, [&] {
    const std::set<std::string> hosts = RunsOn("s");
    return hosts.size() == 4 && !hosts.contains(lost) && LivePods("s").size() == 4;
  })) << cluster_->Get({"gang", "-n", "team", "jobset-s"}).dump(1);
  ExpectPromisesKept();
  ExpectFinished();
  SetReady(lost, true);
  EXPECT_TRUE(WaitFor(kLongPatience, [&] { return IsReady(lost); }));
}

TEST_F(RealKindsTest, ASuspendedJobSetHoldsNothingAndComesBack) {
  Create(TwoJobs("s", 2));
  ASSERT_TRUE(Runs("s", 4));
  Patch("jobset", "s", {{"spec", {{"suspend", true}}}});
  ASSERT_TRUE(HoldsNothing("s", "jobset-s"));
  EXPECT_TRUE(WaitFor(kLongPatience, [] { return PromisedHosts().empty(); }));
  Patch("jobset", "s", {{"spec", {{"suspend", false}}}});
  EXPECT_TRUE(Runs("s", 4));
  ExpectFinished();
}

TEST_F(RealKindsTest, AJobSetThatWaitsSuspendedIsResumedWhenThereIsRoom) {
  Create(IndexedJob("first", 22));
  ASSERT_TRUE(Runs("first", 22));
  json set = TwoJobs("s", 2);
  set["metadata"]["labels"][api::kWaitLabel] = api::kWaitSuspended;
  set["spec"]["suspend"] = true;
  Create(set);
  const auto gang = [] { return cluster_->Get({"gang", "-n", "team", "jobset-s"}); };
  ASSERT_TRUE(WaitFor(kLongPatience, [&] { return ConditionOf(gang(), "Planned") == "False"; }))
      << cluster_->Get({"events", "-n", "team"}).dump(1);
  EXPECT_TRUE(LivePods("s").empty());
  DeleteWithoutWaiting("job", "first");
  EXPECT_TRUE(Runs("s", 4)) << gang().dump(1);
  EXPECT_EQ(RunsOn("s"), HostsHeldBy("jobset-s"));
  ExpectPromisesKept();
  ExpectFinished();
}

TEST_F(RealKindsTest, AJobSetThatIsDeletedAndMadeAgainRuns) {
  Create(TwoJobs("s", 2));
  ASSERT_TRUE(Runs("s", 4));
  const std::set<std::string> first = Uids("s");
  DeleteWithoutWaiting("jobset", "s");
  Create(TwoJobs("s", 3));
  EXPECT_TRUE(RunsAnew("s", 6, first));
  ExpectPromisesKept();
  ExpectFinished();
}

TEST_F(RealKindsTest, AJobIsScaledUpAndDown) {
  Create(IndexedJob("j", 2));
  ASSERT_TRUE(Runs("j", 2));
  const std::set<std::string> hosts = RunsOn("j");
  Patch("job", "j", {{"spec", {{"completions", 4}, {"parallelism", 4}}}});
  ASSERT_TRUE(Runs("j", 4));
  const std::set<std::string> more = RunsOn("j");
  EXPECT_TRUE(std::includes(more.begin(), more.end(), hosts.begin(), hosts.end()));
  Patch("job", "j", {{"spec", {{"completions", 2}, {"parallelism", 2}}}});
  EXPECT_TRUE(WaitFor(kLongPatience,
                      [&] { return RunsOn("j") == hosts && HostsHeldBy("job-j") == hosts; }));
  ExpectFinished();
}

}  // namespace
}  // namespace yardmaster::testing
