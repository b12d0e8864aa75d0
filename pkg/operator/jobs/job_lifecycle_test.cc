// Suspension, deadlines, success policies and what is left after the end.
#include <set>

#include "pkg/kube/testing/kill_at_write.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class JobLifecycleTest : public JobFixture {
 protected:
  int Pods() { return static_cast<int>(client_.All(kube::Pods()).size()); }
};

TEST_F(JobLifecycleTest, HowManyWorkersRunIsWrittenOnceASecondAndThatAllRunAtOnce) {
  SeedJob(4, 4);
  RunUntilStable();
  const auto patches = [this] {
    return client_.CountCalls(kube::Verb::kPatch, "trainingjobs/status");
  };
  const auto run = [this](int rank) {
    SetPod(rank, "Running", StrCat("n", rank));
    return Reconcile();
  };
  client_.ClearCalls();
  clock_.Advance(kCountsMs);
  run(0);
  EXPECT_EQ(patches(), 1) << "the last write is long ago";
  EXPECT_EQ(Status()["readyWorkers"], 1);
  clock_.Advance(kCountsMs - 400);
  const auto again = run(1);
  EXPECT_EQ(patches(), 1);
  ASSERT_TRUE(again.has_value());
  EXPECT_LE(*again, 400);
  clock_.Advance(400);
  Reconcile();
  EXPECT_EQ(patches(), 2);
  EXPECT_EQ(Status()["readyWorkers"], 2);
  run(2);
  run(3);
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Status()["readyWorkers"], 4);
  EXPECT_EQ(patches(), 3);
}

TEST_F(JobLifecycleTest, OnlyNumbersAndMessagesOfRunningWorkersAreCounts) {
  using api::ConditionStatus;
  api::TrainingJobStatus before;
  before.roles = {{"data", 1, 0}};
  before.conditions = {{"Running", ConditionStatus::kFalse, "WorkersMissing", "1 of 4", 1, 5},
                       {"Planned", ConditionStatus::kTrue, "Placed", "4 workers", 1, 5}};
  api::TrainingJobStatus counted = before;
  counted.ready_workers = 2;
  counted.roles[0].ready = 2;
  counted.conditions[0].message = "2 of 4";
  EXPECT_TRUE(OnlyCountsDiffer(before, counted));
  for (int change = 0; change < 5; ++change) {
    api::TrainingJobStatus other = counted;
    if (change == 0) other.conditions[0].status = ConditionStatus::kTrue;
    if (change == 1) other.conditions[0].reason = "WorkersRunning";
    if (change == 2) other.conditions[1].message = "3 workers";
    if (change == 3) other.restarts = 1;
    if (change == 4) other.roles[0].succeeded = 1;
    EXPECT_FALSE(OnlyCountsDiffer(before, other)) << change;
  }
}

TEST_F(JobLifecycleTest, ASuspendedJobMakesNoPods) {
  SeedJob(2, 2, {{"suspend", true}});
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
  EXPECT_EQ(Condition("Suspended"), "True");
  EXPECT_EQ(Condition("Queued"), "False");
  EXPECT_EQ(Status()["workers"], 0);
}

TEST_F(JobLifecycleTest, ARunningJobThatIsSuspendedEndsItsPodsAndRunsAgainWhenItIsResumed) {
  SeedJob(3, 3);
  RunAll();
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_TRUE(Status().contains("startTime"));
  Change({{"suspend", true}});
  Reconcile();
  EXPECT_EQ(Reason("Suspended"), "Suspending");
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
  EXPECT_EQ(Condition("Suspended"), "True");
  EXPECT_EQ(Condition("Running"), "False");
  EXPECT_NE(Condition("Degraded"), "True");
  EXPECT_FALSE(Status().contains("startTime"));
  EXPECT_EQ(Status()["restarts"], 0);
  Change({{"suspend", false}});
  RunAll();
  EXPECT_EQ(Pods(), 3);
  EXPECT_EQ(Condition("Suspended"), "False");
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Status()["recovery"]["incidents"].size(), 0u);
}

TEST_F(JobLifecycleTest, ASuspensionThatIsCutAtAnyWriteIsCarriedOnByTheNextLeader) {
  for (int kill_at = 0; kill_at < 6; ++kill_at) {
    SeedJob(3, 3);
    NewLeader();
    RunAll();
    Change({{"suspend", true}});
    {
      kube::KillAtWrite kill(client_, kill_at);
      (void)TryReconcile();
    }
    NewLeader();
    RunUntilStable();
    EXPECT_EQ(Pods(), 0) << kill_at;
    EXPECT_EQ(Condition("Suspended"), "True") << kill_at;
    Change({{"suspend", false}});
    RunAll();
    EXPECT_EQ(Condition("Running"), "True") << kill_at;
  }
}

TEST_F(JobLifecycleTest, AFinishedJobIsNotSuspended) {
  SeedJob(1, 1);
  RunAll();
  SetPod(0, "Succeeded", "n0");
  RunUntilStable();
  Change({{"suspend", true}});
  RunUntilStable();
  EXPECT_EQ(Condition("Succeeded"), "True");
  EXPECT_EQ(Pods(), 1);
}

TEST_F(JobLifecycleTest, AJobThatAnotherControllerManagesIsLeftAlone) {
  SeedJob(2, 2, {{"managedBy", "kueue.x-k8s.io/multikueue"}});
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
  EXPECT_FALSE(Job().contains("status"));
}

TEST_F(JobLifecycleTest, AJobFailsAfterItsActiveDeadlineAndNotBeforeItRuns) {
  SeedJob(2, 2, {{"activeDeadlineSeconds", 100}});
  RunUntilStable();
  clock_.Advance(1'000'000);
  RunUntilStable();
  EXPECT_NE(Condition("Failed"), "True") << "it waits for a place";
  RunAll();
  const auto again = Reconcile();
  ASSERT_TRUE(again.has_value());
  EXPECT_LE(*again, 100'000);
  clock_.Advance(100'000);
  RunUntilStable();
  EXPECT_EQ(Condition("Failed"), "True");
  EXPECT_EQ(Reason("Failed"), "DeadlineExceeded");
  EXPECT_EQ(Pods(), 0);
  EXPECT_TRUE(Status().contains("completionTime"));
}

TEST_F(JobLifecycleTest, AJobThatWaitsForRentedHostsFailsAtItsDeadline) {
  SeedJob(2, 2, {{"activeDeadlineSeconds", 100}, {"capacity", {{"maxCostPerHour", "9 USD"}}}});
  RunAll();
  json job = Job();
  job["status"]["capacity"] = {{"phase", "Leaving"}};
  client_.Seed(kube::TrainingJobs(), job);
  clock_.Advance(50'000);
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
  EXPECT_NE(Condition("Failed"), "True");
  clock_.Advance(50'000);
  RunUntilStable();
  EXPECT_EQ(Reason("Failed"), "DeadlineExceeded") << "before hosts are rented once more";
}

TEST_F(JobLifecycleTest, WithRankZeroTheJobEndsWithThatWorkerAndTheOthersAreRemoved) {
  SeedJob(3, 3, {{"successPolicy", "RankZero"}});
  RunAll();
  SetPod(0, "Succeeded", "n0");
  RunUntilStable();
  EXPECT_EQ(Condition("Succeeded"), "True");
  EXPECT_EQ(Reason("Succeeded"), "RankZeroSucceeded");
  EXPECT_EQ(Pods(), 1) << "the logs of rank 0 are kept";
}

TEST_F(JobLifecycleTest, CleanPodPolicyAllRemovesThePodsThatFinished) {
  SeedJob(2, 2, {{"cleanPodPolicy", "All"}});
  RunAll();
  for (int rank = 0; rank < 2; ++rank) SetPod(rank, "Succeeded", StrCat("n", rank));
  RunUntilStable();
  EXPECT_EQ(Condition("Succeeded"), "True");
  EXPECT_EQ(Pods(), 0);
}

TEST_F(JobLifecycleTest, AFinishedJobIsDeletedWhenItsTimeToLiveIsOver) {
  SeedJob(1, 1, {{"ttlSecondsAfterFinished", 60}});
  RunAll();
  SetPod(0, "Succeeded", "n0");
  RunUntilStable();
  EXPECT_EQ(Reconcile(), 60'000);
  clock_.Advance(60'000);
  Reconcile();
  EXPECT_FALSE(client_.Find(kube::TrainingJobs(), "team", "a").has_value());
}

TEST_F(JobLifecycleTest, AnExitCodeThatAsksForAnotherHostIsKeptInTheStatusAndOnTheNewPods) {
  SeedJob(3, 3,
          {{"recovery",
            {{"onWorkerFailure", "Fail"},
             {"rules",
              json::array({{{"action", "ReplaceHost"}, {"exitCodes", json::array({79})}}})}}}});
  RunAll();
  FailPod(1, 79);
  RunUntilStable();
  EXPECT_NE(Condition("Failed"), "True");
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(Pod(rank)["metadata"]["annotations"].value(api::kAvoidHostsAnnotation, ""), "n1");
  }
  const json incident = Status()["recovery"]["incidents"][0];
  EXPECT_EQ(incident["host"], "n1");
  EXPECT_EQ(incident["firstRank"], 1);
  EXPECT_EQ(incident["exitCode"], 79);
  EXPECT_EQ(incident["blamesHost"], true);
  EXPECT_NE(incident["message"].get<std::string>().find("rank 1 on another host"),
            std::string::npos);
  // A day later the host may be used again.
  RunAll();
  clock_.Advance(86'400'000);
  FailPod(2, 79);
  RunUntilStable();
  EXPECT_EQ(Pod(0)["metadata"]["annotations"].value(api::kAvoidHostsAnnotation, ""), "n2");
}

TEST_F(JobLifecycleTest, APodWithARankAboveTheWorkersIsACondition) {
  SeedJob(2, 3);
  RunAll();
  json pod = Pod(1);
  pod["metadata"]["name"] = "a-2";
  pod["metadata"]["uid"] = "surplus";
  pod["metadata"].erase("resourceVersion");
  client_.Seed(kube::Pods(), pod);
  RunUntilStable();
  EXPECT_EQ(Reason("Stalled"), "SurplusWorkers");
  EXPECT_NE(Message("Stalled").find("spec.workers"), std::string::npos);
  EXPECT_EQ(CountNotices("Stalled"), 1);
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-2", ""}, {}).ok());
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "False");
}

TEST_F(JobLifecycleTest, JobsWithHostNetworkNeverShareARendezvousPort) {
  SeedJob(1, 1, {{"template", {{"spec", {{"hostNetwork", true}}}}}});
  json other = Job();
  other["metadata"]["name"] = "b";
  other["metadata"]["uid"] = "other";
  client_.Seed(kube::TrainingJobs(), other);
  RunUntilStable();
  const int port = Status()["rendezvousPort"];
  std::set<int> ports = {port};
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(ports.insert(ChooseHostPort("job", ports)).second);
  EXPECT_EQ(ChooseHostPort("job", {}), port);
  Sync();
  ASSERT_TRUE(controller_->Reconcile("team/b").ok());
  EXPECT_NE((*client_.Find(kube::TrainingJobs(), "team", "b"))["status"]["rendezvousPort"], port);
}

TEST_F(JobLifecycleTest, AJobThatHasEndedGivesItsRendezvousPortBack) {
  SeedJob(1, 1, {{"template", {{"spec", {{"hostNetwork", true}}}}}});
  RunAll();
  const int port = Status()["rendezvousPort"];
  SetPod(0, "Succeeded", "n0");
  RunUntilStable();
  ASSERT_EQ(Condition("Succeeded"), "True");
  int uid = 0;  // of a job whose first choice is the same port
  while (ChooseHostPort(StrCat(uid), {}) != port) ++uid;
  json other = Job();
  other["metadata"]["name"] = "b";
  other["metadata"]["uid"] = StrCat(uid);
  other.erase("status");
  client_.Seed(kube::TrainingJobs(), other);
  Sync();
  ASSERT_TRUE(controller_->Reconcile("team/b").ok());
  EXPECT_EQ((*client_.Find(kube::TrainingJobs(), "team", "b"))["status"]["rendezvousPort"], port);
}

TEST_F(JobLifecycleTest, AJobWithWordsOfANewerVersionInItsStatusIsRunOn) {
  SeedJob(2, 2, {{"recovery", {{"backoffSeconds", 0}}}});
  RunAll();
  FailPod(0, 1);
  RunAll();
  json job = Job();
  job["status"]["recovery"]["incidents"][0]["cause"] = "MeteorStrike";
  job["status"]["capacity"] = {{"phase", "None"}, {"generation", 1}, {"reason", "Whim"}};
  client_.Seed(kube::TrainingJobs(), job);
  NewLeader();
  FailPod(1, 1);
  RunAll();
  EXPECT_EQ(Status()["restarts"], 2);
}

}  // namespace
}  // namespace yardmaster::op
