// The process that runs a job is killed at every write of a story, one after the other, and the
// next one carries on: the end is the same.
#include "pkg/api/gang.h"
#include "pkg/api/progress_report.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/kube/testing/kill_at_write.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

// The parameter: how many writes the first process gets through before it is killed.
class JobCrashTest : public JobFixture, public ::testing::WithParamInterface<int> {
 protected:
  // The process is killed at its write of the parameter's number; then the next one leads.
  void RunUntilKilled() {
    {
      kube::KillAtWrite kill(client_, GetParam());
      for (int i = 0; i < 4; ++i) (void)TryReconcile();
    }
    NewLeader();
  }
};

TEST_P(JobCrashTest, AFailureIsCountedOnceAndEveryWorkerIsRecreatedOnce) {
  SeedJob(4, 4);
  RunAll();
  const auto before = Uids();
  for (int rank = 0; rank < 4; ++rank) FailPod(rank, 134);
  RunUntilKilled();
  RunAll();
  EXPECT_EQ(Status()["restarts"], 1);
  EXPECT_EQ(Status()["recovery"]["attempt"], 1);
  EXPECT_EQ(Condition("Running"), "True");
  for (const auto& [rank, uid] : before) EXPECT_NE(Uid(rank), uid);
}

TEST_P(JobCrashTest, AJobThatIsToFailFailsAndLeavesNothingRunning) {
  SeedJob(4, 4, {{"recovery", {{"maxRestarts", 0}}}});
  RunAll();
  FailPod(2, 1);
  RunUntilKilled();
  RunUntilStable();
  EXPECT_EQ(Condition("Failed"), "True");
  for (int rank : {0, 1, 3}) EXPECT_FALSE(HasPod(rank)) << rank;
  EXPECT_EQ(Status()["restarts"], 0);
}

TEST_P(JobCrashTest, ALostHostMovesItsRankAloneWhenThePolicySaysSo) {
  SeedJob(4, 4, {{"recovery", {{"onHostLoss", "Replace"}}}});
  RunAll();
  const auto before = Uids();
  SetNode("n1", false);
  RunUntilStable();
  clock_.Advance(10'000);
  RunUntilKilled();
  RunUntilStable();
  clock_.Advance(10'000);  // if it was killed before it had decided
  RunUntilStable();
  SetPod(1, "Running", "n3");
  RunUntilStable();
  EXPECT_EQ(Status()["recovery"]["attempt"], 1);
  for (const auto& [rank, uid] : before) EXPECT_EQ(Uid(rank) == uid, rank != 1) << rank;
}

TEST_P(JobCrashTest, ADataGroupRestartsByItselfAndIsRecreatedOnce) {
  SeedJob(4, 5, {{"recovery", {{"unit", "DataGroup"}}}, {"parallelism", {{"tensor", 16}}}});
  RunAll();
  const auto before = Uids();
  SetNode("n1", false);
  RunUntilStable();
  clock_.Advance(10'000);
  RunUntilKilled();
  RunUntilStable();
  clock_.Advance(10'000);  // if it was killed before it had decided
  RunUntilStable();
  SetPod(0, "Running", "n0");
  SetPod(1, "Running", "n4");
  RunUntilStable();
  EXPECT_EQ(Status()["recovery"]["attempt"], 1);
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Condition("Recovering"), "False");
  for (const auto& [rank, uid] : before) EXPECT_EQ(Uid(rank) == uid, rank >= 2) << rank;
}

TEST_P(JobCrashTest, AFailedLauncherIsRecreatedOnceAndTheWorkersStay) {
  const json pod = {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}};
  SeedJob(2, 2, {{"roles", json::array({{{"name", "launcher"}, {"template", pod}}})}});
  SetNode("n9", true);
  RunAll();
  const auto set_launcher = [&](const char* phase) {
    json launcher = *client_.Find(kube::Pods(), "team", "a-launcher-0");
    launcher["spec"]["nodeName"] = "n9";
    launcher["status"]["phase"] = phase;
    client_.Seed(kube::Pods(), launcher);
  };
  set_launcher("Running");
  RunUntilStable();
  const auto before = Uids();
  set_launcher("Failed");
  RunUntilKilled();
  RunUntilStable();
  set_launcher("Running");
  RunUntilStable();
  EXPECT_EQ(Status()["restarts"], 1);
  EXPECT_EQ(Status()["recovery"]["attempt"], 1);
  EXPECT_EQ(Condition("Recovering"), "False");
  EXPECT_EQ(Uids(), before);
}

INSTANTIATE_TEST_SUITE_P(EveryWrite, JobCrashTest, ::testing::Range(0, 14));

using JobLeadershipTest = JobFixture;

TEST_F(JobLeadershipTest, AProcessThatDoesNotLeadAnyMoreMakesNoFurtherPodAndTheNextLeaderGoesOn) {
  const int workers = Rounds(1'000);
  SeedJob(workers, 1);
  Sync();
  writes_left_ = 40;
  EXPECT_TRUE(absl::IsUnavailable(TryReconcile().status()));
  EXPECT_EQ(client_.All(kube::Services()).size(), 1u);
  EXPECT_EQ(client_.All(kube::Pods()).size(), 39u) << "40 writes, and one was the Service";
  writes_left_ = INT_MAX;
  NewLeader();
  RunUntilStable();
  EXPECT_EQ(client_.All(kube::Pods()).size(), static_cast<std::size_t>(workers));
}

TEST_F(JobLeadershipTest, AnIncidentHasTheHostOfAPodThatWentBeforeTheNextLeaderLooked) {
  SeedJob(2, 2);
  RunAll();
  SeedGangOfTwo();
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", PodName("a", 1), ""}, {}).ok());
  NewLeader();
  RunUntilStable();
  const json incidents = Status()["recovery"]["incidents"];
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0]["cause"], "WorkerRemoved");
  EXPECT_EQ(incidents[0]["firstRank"], 1);
  EXPECT_EQ(incidents[0].value("host", "(none)"), "n1");
}

// Its group has a pod that is there, and that is not asked for.
TEST_F(JobLeadershipTest, ARemovedPodRestartsItsDataGroup) {
  SeedJob(4, 4, {{"recovery", {{"unit", "DataGroup"}}}, {"parallelism", {{"tensor", 16}}}});
  RunAll();
  const auto before = Uids();
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", PodName("a", 1), ""}, {}).ok());
  RunUntilStable();
  EXPECT_EQ(Status()["recovery"]["incidents"][0]["cause"], "WorkerRemoved");
  RunAll();
  EXPECT_EQ(Condition("Recovering"), "False");
  for (const auto& [rank, uid] : before) EXPECT_EQ(Uid(rank) == uid, rank >= 2) << rank;
}

// Whoever is waited for: a stall is one of more than half of the workers.
TEST_F(JobLeadershipTest, AStallRestartsEveryDataGroup) {
  SeedJob(4, 6,
          {{"recovery", {{"unit", "DataGroup"}, {"onStall", "Restart"}}},
           {"parallelism", {{"tensor", 16}}}});
  RunAll();
  clock_.Advance(3'600'000);
  RunUntilStable();
  const auto before = Uids();
  const auto wait = [&](int rank, api::ProcessActivity processes) {
    json pod = Pod(rank);
    pod["metadata"]["annotations"][api::kProgressAnnotation] =
        api::EncodeProgressReport({api::ProgressState::kWaiting, clock_.WallMs() - 60'000,
                                   processes, std::nullopt, 2, 0, clock_.WallMs()});
    client_.Seed(kube::Pods(), pod);
    RunUntilStable();
  };
  wait(1, api::ProcessActivity::kStopped);
  EXPECT_EQ(Uids(), before) << "the others may go on without its group";
  for (const int rank : {0, 2}) wait(rank, api::ProcessActivity::kBusy);
  EXPECT_EQ(Status()["recovery"]["incidents"][0]["cause"], "Stalled");
  for (const auto& [rank, uid] : before) EXPECT_NE(Uid(rank), uid) << rank;
}

}  // namespace
}  // namespace yardmaster::op
