// Restarts inside the pods: who is asked, who is not, and what happens to pods that do not answer.
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

const json kInPlace = {{"recovery", {{"inPlaceSeconds", 120}}}};

class JobInPlaceTest : public JobFixture {
 protected:
  std::string Asked(int rank) {
    return Pod(rank)["metadata"]["annotations"][api::kRestartGenerationAnnotation];
  }
  std::int64_t Attempt() { return Status()["recovery"]["attempt"]; }
  void LoseHostOfRank(int rank) {
    SetNode(StrCat("n", rank), false);
    RunUntilStable();
    clock_.Advance(10'000);
    RunUntilStable();
  }
  bool OthersStayWhenAHostIsDrained(const json& checkpoint) {
    json spec = kInPlace;
    spec["checkpoint"] = checkpoint;
    SeedJob(3, 4, spec);
    RunAll();
    const auto before = Uids();
    json node = *client_.Find(kube::Nodes(), "", "n1");
    node["spec"]["taints"] =
        json::array({{{"key", "karpenter.sh/disrupted"}, {"effect", "NoSchedule"}}});
    client_.Seed(kube::Nodes(), node);
    RunUntilStable();
    RestartAsAsked();
    RunUntilStable();
    EXPECT_NE(Uid(1), before.at(1));
    return Uid(0) == before.at(0) && Uid(2) == before.at(2);
  }
};

TEST_F(JobInPlaceTest, AfterAHostIsLostTheOthersKeepTheirPodsAndOnlyTheLostRankGetsANewOne) {
  SeedJob(4, 6, kInPlace);
  RunAll();
  const auto before = Uids();
  LoseHostOfRank(2);
  EXPECT_NE(Uid(2), before.at(2));
  for (const int rank : {0, 1, 3}) {
    EXPECT_EQ(Uid(rank), before.at(rank));
    EXPECT_EQ(Asked(rank), "1");
  }
  EXPECT_EQ(Condition("Recovering"), "True");
  EXPECT_EQ(RestartAsAsked(), 3);
  SetPod(2, "Running", "n5");
  RunUntilStable();
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Condition("Recovering"), "False");
  EXPECT_EQ(Attempt(), 1);
  // Later the same happens again, to pods that have restarted once.
  clock_.Advance(3'600'000);
  SetNode("n0", false);
  RunUntilStable();
  clock_.Advance(10'000);
  RunUntilStable();
  EXPECT_EQ(Asked(1), "2");
  EXPECT_EQ(RestartAsAsked(), 3);
  SetPod(0, "Running", "n4");
  RunUntilStable();
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Uid(1), before.at(1));
  EXPECT_EQ(Uid(3), before.at(3));
  EXPECT_EQ(Status()["restarts"], 0) << "lost hosts cost no restart";
}

TEST_F(JobInPlaceTest, WhenAHostIsDrainedEveryWorkerHasTheTimeForTheCheckpointThatItsEndAsksFor) {
  EXPECT_FALSE(OthersStayWhenAHostIsDrained({{"request", "Signal"}}))
      << "a restart in place has ten seconds";
}

TEST_F(JobInPlaceTest, WhenAHostIsDrainedEveryWorkerRunsTheCommandInItsGracePeriod) {
  EXPECT_FALSE(
      OthersStayWhenAHostIsDrained({{"request", "Command"}, {"command", json::array({"save"})}}));
}

TEST_F(JobInPlaceTest, WhenAHostIsDrainedAJobThatWasAskedBeforeRestartsInPlace) {
  EXPECT_TRUE(OthersStayWhenAHostIsDrained({{"request", "Annotation"}, {"graceSeconds", 0}}));
}

TEST_F(JobInPlaceTest, AJobThatRestartedInPlaceSucceedsWithItsPods) {
  SeedJob(2, 2, kInPlace);
  RunAll();
  const auto before = Uids();
  EndContainer(0, 1);
  RunUntilStable();
  EXPECT_EQ(RestartAsAsked(), 1);
  RunUntilStable();
  for (int rank = 0; rank < 2; ++rank) {
    json pod = Pod(rank);
    pod["status"]["phase"] = "Succeeded";
    pod["status"]["containerStatuses"][0]["state"] = {{"terminated", {{"exitCode", 0}}}};
    client_.Seed(kube::Pods(), pod);
  }
  RunUntilStable();
  EXPECT_EQ(Condition("Succeeded"), "True");
  EXPECT_EQ(Uids(), before) << "none is recreated";
  EXPECT_EQ(Status()["recovery"]["incidents"].size(), 1u);
}

TEST_F(JobInPlaceTest, ARestartThatNoLookSawBeginsTheTenMinutesOfRunningAgain) {
  SeedJob(2, 2, kInPlace);
  RunAll();
  clock_.Advance(900'000);
  const json running = ConditionObject("Running");
  EndContainer(0, 1);
  Reconcile();
  RestartAsAsked();
  RunUntilStable();
  ASSERT_EQ(ConditionObject("Running"), running) << "no look saw the job without them";
  clock_.Advance(60'000);
  EndContainer(0, 1);
  Reconcile();
  EXPECT_EQ(Status()["recovery"]["consecutiveRestarts"], 2);
}

TEST_F(JobInPlaceTest, AContainerThatFailsRestartsTheOthersAndIsNotAskedItself) {
  SeedJob(3, 3, kInPlace);
  RunAll();
  const auto before = Uids();
  EndContainer(1, 134);
  RunUntilStable();
  EXPECT_EQ(Attempt(), 1);
  EXPECT_EQ(Asked(0), "1");
  EXPECT_EQ(Asked(1), "0") << "its kubelet has restarted it";
  EXPECT_EQ(Asked(2), "1");
  EXPECT_EQ(RestartAsAsked(), 2);
  RunUntilStable();
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Uids(), before);
  EXPECT_EQ(Status()["restarts"], 1);
  EXPECT_EQ(Status()["recovery"]["incidents"][0]["exitCode"], 134);
}

TEST_F(JobInPlaceTest, RanksThatDieTogetherCostOneRestartAndNobodyIsAsked) {
  SeedJob(16, 16, kInPlace);
  RunAll();
  const auto before = Uids();
  for (int rank = 0; rank < 16; ++rank) {
    EndContainer(rank, 134);
    if (rank % 5 == 0) Reconcile();
  }
  RunUntilStable();
  RestartAsAsked();
  RunUntilStable();
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Uids(), before);
  EXPECT_EQ(Status()["restarts"], 1);
  // An end that was part of that incident does not answer for the next.
  clock_.Advance(3'600'000);
  EndContainer(3, 134);
  RunUntilStable();
  EXPECT_EQ(RestartAsAsked(), 15);
  RunUntilStable();
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Status()["restarts"], 2);
}

TEST_F(JobInPlaceTest, APodThatDoesNotRestartInTimeIsRecreated) {
  SeedJob(3, 5, kInPlace);
  RunAll();
  const auto before = Uids();
  LoseHostOfRank(2);
  SetPod(2, "Running", "n4");
  RunUntilStable();
  clock_.Advance(119'000);
  RunUntilStable();
  EXPECT_EQ(Uid(0), before.at(0));
  clock_.Advance(2'000);
  RunUntilStable();
  EXPECT_NE(Uid(0), before.at(0));
  EXPECT_NE(Uid(1), before.at(1));
}

TEST_F(JobInPlaceTest, ARankOnAHostToBeAvoidedGetsANewPod) {
  json spec = kInPlace;
  spec["recovery"]["rules"] = json::array({{{"action", "ReplaceHost"}, {"exitCodes", {79}}}});
  SeedJob(3, 5, spec);
  RunAll();
  const auto before = Uids();
  EndContainer(1, 79);
  RunUntilStable();
  EXPECT_EQ(Uid(0), before.at(0));
  EXPECT_NE(Uid(1), before.at(1));
  EXPECT_EQ(Pod(1)["metadata"]["annotations"][api::kAvoidHostsAnnotation], "n1");
}

TEST_F(JobInPlaceTest, WhileAContainerWaitsToRestartTheJobDoesNotRun) {
  SeedJob(2, 2, kInPlace);
  RunAll();
  EndContainer(0, 1, /*started_again=*/false);
  RunUntilStable();
  RestartAsAsked();
  RunUntilStable();
  EXPECT_EQ(Condition("Running"), "False");
  EXPECT_EQ(Condition("Recovering"), "True");
}

TEST_F(JobInPlaceTest, TheBudgetHoldsForContainersToo) {
  json spec = kInPlace;
  spec["recovery"]["maxRestarts"] = 2;
  spec["recovery"]["backoffSeconds"] = 0;
  SeedJob(2, 2, spec);
  RunAll();
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(60'000);
    EndContainer(0, 1);
    RunUntilStable();
    RestartAsAsked();
    RunUntilStable();
  }
  EXPECT_EQ(Reason("Failed"), "NoRestartLeft");
  EXPECT_FALSE(HasPod(0));
  EXPECT_FALSE(HasPod(1));
}

TEST_F(JobInPlaceTest, NobodyIsAskedBeforeTheBackoffIsOver) {
  SeedJob(2, 2, kInPlace);
  RunAll();
  EndContainer(0, 1);
  RunUntilStable();
  RestartAsAsked();
  RunUntilStable();
  clock_.Advance(60'000);
  EndContainer(0, 1);
  RunUntilStable();
  EXPECT_EQ(Asked(1), "1") << "the second restart in a row waits ten seconds";
  clock_.Advance(10'000);
  RunUntilStable();
  EXPECT_EQ(Asked(1), "2");
}

TEST_F(JobInPlaceTest, ASuspendedJobHasNoPodsWhateverCouldRestart) {
  SeedJob(2, 2, kInPlace);
  RunAll();
  json job = Job();
  job["spec"]["suspend"] = true;
  client_.Seed(kube::TrainingJobs(), job);
  RunUntilStable();
  EXPECT_FALSE(HasPod(0));
  EXPECT_EQ(Condition("Suspended"), "True");
}

}  // namespace
}  // namespace yardmaster::op
