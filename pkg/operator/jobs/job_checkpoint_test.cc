// Checkpoints that are asked for before a job is stopped, hosts that are drained for a fault, and
// what incidents cost.
#include "pkg/api/checkpoint_mark.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

const json kAsked = {{"checkpoint", {{"request", "Annotation"}, {"graceSeconds", 300}}}};

class JobCheckpointTest : public JobFixture {
 protected:
  // The program's word that a checkpoint begun now is complete.
  void Report(int rank, double seconds = 0) {
    json pod = Pod(rank);
    pod["metadata"]["annotations"][api::kCheckpointAnnotation] =
        api::EncodeCheckpointMark({clock_.WallMs() / 1000 * 1000, seconds});
    client_.Seed(kube::Pods(), pod);
  }
  std::string RequestOn(int rank) {
    return Pod(rank)["metadata"]["annotations"].value(api::kCheckpointRequestAnnotation, "");
  }
  void SetConditions(const std::string& name, const std::string& type, const std::string& status) {
    json node = *client_.Find(kube::Nodes(), "", name);
    node["status"]["conditions"].push_back({{"type", type}, {"status", status}});
    client_.Seed(kube::Nodes(), node);
  }
  int Pods() { return static_cast<int>(client_.All(kube::Pods()).size()); }
  double Lost(const std::string& cause) {
    for (const json& lost : Status().value("lostWork", json::array())) {
      if (lost["cause"] == cause) return lost["gpuSeconds"];
    }
    return 0;
  }
};

TEST_F(JobCheckpointTest, ASuspendedJobIsAskedForACheckpointAndKeepsItsPodsUntilItIsThere) {
  SeedJob(2, 2, kAsked);
  RunAll();
  clock_.Advance(5'000);
  Suspend(true);
  RunUntilStable();
  EXPECT_EQ(Pods(), 2);
  EXPECT_EQ(Reason("Suspended"), "AwaitingCheckpoint");
  EXPECT_NE(RequestOn(0), "");
  EXPECT_EQ(RequestOn(0), RequestOn(1));
  EXPECT_LE(Reconcile(), 300'000);
  clock_.Advance(20'000);
  Report(1);
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
  EXPECT_EQ(Condition("Suspended"), "True");
  EXPECT_TRUE(Status()["checkpoint"].contains("lastTime"));
}

TEST_F(JobCheckpointTest, AnOldCheckpointIsNoAnswerAndTheGracePeriodEndsTheWait) {
  SeedJob(2, 2, kAsked);
  RunAll();
  Report(0);
  clock_.Advance(5'000);
  Suspend(true);
  RunUntilStable();
  EXPECT_EQ(Pods(), 2);
  clock_.Advance(299'000);
  RunUntilStable();
  EXPECT_EQ(Pods(), 2);
  clock_.Advance(1'000);
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
}

TEST_F(JobCheckpointTest, ACheckpointOfTheFutureIsNoAnswer) {
  SeedJob(1, 1, kAsked);
  RunAll();
  json pod = Pod(0);
  pod["metadata"]["annotations"][api::kCheckpointAnnotation] =
      api::EncodeCheckpointMark({clock_.WallMs() + 86'400'000, 0});
  client_.Seed(kube::Pods(), pod);
  Suspend(true);
  RunUntilStable();
  EXPECT_EQ(Pods(), 1);
}

TEST_F(JobCheckpointTest, ARequestIsTakenBackWithTheSuspensionAndANewOneNeedsANewAnswer) {
  SeedJob(1, 1, kAsked);
  RunAll();
  Suspend(true);
  RunUntilStable();
  Suspend(false);
  RunUntilStable();
  EXPECT_FALSE(Status()["recovery"].contains("checkpointRequested"));
  EXPECT_EQ(Condition("Running"), "True");
  Report(0);
  clock_.Advance(10'000);
  Suspend(true);
  RunUntilStable();
  EXPECT_EQ(Pods(), 1);
}

TEST_F(JobCheckpointTest, WithoutARequestThePodsAreAskedBySigtermAlone) {
  SeedJob(1, 1);
  RunAll();
  Suspend(true);
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
}

TEST_F(JobCheckpointTest, AHostThatIsAboutToGoIsLeftAfterACheckpointAndNotByForce) {
  json spec = kAsked;
  spec["recovery"] = {{"onHostLoss", "Replace"}};
  SeedJob(3, 4, spec);
  RunAll();
  const auto before = Uids();
  json node = *client_.Find(kube::Nodes(), "", "n1");
  node["spec"]["taints"] =
      json::array({{{"key", "karpenter.sh/disrupted"}, {"effect", "NoSchedule"}}});
  client_.Seed(kube::Nodes(), node);
  RunUntilStable();
  EXPECT_EQ(Uids(), before);
  EXPECT_NE(RequestOn(0), "");
  clock_.Advance(2'000);
  Report(0);
  RunUntilStable();
  EXPECT_EQ(Uid(0), before.at(0));
  EXPECT_NE(Uid(1), before.at(1));
  EXPECT_EQ(Pod(1)["metadata"]["annotations"].value(api::kAvoidHostsAnnotation, ""), "n1");
  const json incident = Status()["recovery"]["incidents"][0];
  EXPECT_EQ(incident["cause"], "HostFault");
  EXPECT_EQ(incident["host"], "n1");
  EXPECT_NE(incident["message"].get<std::string>().find("taint karpenter.sh/disrupted"),
            std::string::npos);
  EXPECT_EQ(Status()["restarts"], 0);
}

TEST_F(JobCheckpointTest, AFaultThatDegradesIsShownAndMovesNothing) {
  SeedJob(2, 2);
  RunAll();
  const auto before = Uids();
  SetConditions("n1", "KernelReady", "False");
  RunUntilStable();
  clock_.Advance(60'000);
  RunUntilStable();
  EXPECT_EQ(Uids(), before);
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Condition("Degraded"), "True");
  EXPECT_EQ(Reason("Degraded"), "HostFault");
  EXPECT_NE(Message("Degraded").find("n1"), std::string::npos);
}

TEST_F(JobCheckpointTest, AHostWithAFaultGetsNoNewWorkersUnlessManyHostsHaveOne) {
  SeedJob(1, 20);
  SetConditions("n1", "KernelDeadlock", "True");
  Sync();
  EXPECT_EQ(marker_->RunOnce(clock_.WallMs()).quarantined, 1);
  const json node = *client_.Find(kube::Nodes(), "", "n1");
  EXPECT_EQ(node["spec"]["taints"][0]["value"], "node-fault");
  for (int i = 2; i < 8; ++i) SetConditions(StrCat("n", i), "KernelDeadlock", "True");
  Sync();
  EXPECT_EQ(marker_->RunOnce(clock_.WallMs()).quarantined, 0);
}

TEST_F(JobCheckpointTest, WhatAnIncidentCostsIsInTheStatusAndCounted) {
  SeedJob(2, 2);
  RunAll();
  clock_.Advance(600'000);
  Report(0, 30);
  RunUntilStable();
  EXPECT_EQ(Status()["checkpoint"]["costSeconds"], 30);
  EXPECT_GT(Status()["checkpoint"]["recommendedIntervalSeconds"], 60);
  clock_.Advance(100'000);
  FailPod(1, 134);
  RunUntilStable();
  EXPECT_EQ(Lost("WorkerFailed"), 16 * 100);
  clock_.Advance(20'000);
  RunAll();
  EXPECT_EQ(Lost("WorkerFailed"), 16 * 120);
  EXPECT_EQ(controller_->lost_gpu_seconds().at("WorkerFailed"), 16 * 120);
}

TEST_F(JobCheckpointTest, AContainerThatEndsMayReportItsCheckpointByItsTerminationMessage) {
  SeedJob(2, 2);
  RunAll();
  clock_.Advance(1'000'000);
  const std::int64_t at_ms = clock_.WallMs() / 1000 * 1000 - 100'000;
  FailPod(1, 143);
  json pod = Pod(1);
  pod["status"]["containerStatuses"][0]["state"]["terminated"]["message"] =
      api::EncodeCheckpointMark({at_ms, 30});
  client_.Seed(kube::Pods(), pod);
  RunUntilStable();
  EXPECT_EQ(Status()["checkpoint"]["lastTime"], FormatTime(at_ms));
  EXPECT_EQ(Status()["checkpoint"]["costSeconds"], 30);
  EXPECT_EQ(Lost("WorkerFailed"), 100 * 16) << "the time since then is repeated";
}

TEST_F(JobCheckpointTest, ATerminationMessageIsReadInsideAPodThatRestartsInPlaceAndLogsAreNot) {
  SeedJob(2, 2, {{"recovery", {{"inPlaceSeconds", 120}}}});
  RunAll();
  clock_.Advance(1'000'000);
  for (const char* message : {"Traceback: {", "{\"version\":2}", "{not json"}) {
    EndContainer(1, 1);
    json pod = Pod(1);
    pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["message"] = message;
    client_.Seed(kube::Pods(), pod);
    RunUntilStable();
    EXPECT_FALSE(Status().contains("checkpoint")) << message;
  }
  const std::int64_t at_ms = clock_.WallMs() / 1000 * 1000 - 100'000;
  json pod = Pod(1);
  pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["message"] =
      api::EncodeCheckpointMark({at_ms, 30});
  client_.Seed(kube::Pods(), pod);
  RunUntilStable();
  EXPECT_EQ(Status()["checkpoint"]["lastTime"], FormatTime(at_ms));
}

}  // namespace
}  // namespace yardmaster::op
