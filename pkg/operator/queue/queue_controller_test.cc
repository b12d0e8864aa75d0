// TrainingJobs in a queue of Kueue, with both of the operator's controllers and what Kueue writes.
#include "pkg/operator/queue/queue_controller.h"

#include "pkg/operator/testing/queue_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

using QueueControllerTest = QueueFixture;

TEST_F(QueueControllerTest, AJobWaitsWithAWorkloadAndWithoutPods) {
  SeedQueued(3, 3);
  Settle();
  EXPECT_EQ(Pods(), 0);
  ASSERT_EQ(client_.All(Workloads()).size(), 1u);
  const json workload = Workload();
  EXPECT_EQ(workload["metadata"]["name"], "trainingjob-a-job");
  EXPECT_EQ(workload["metadata"]["ownerReferences"][0]["uid"], "job");
  EXPECT_EQ(workload["spec"]["queueName"], "research");
  EXPECT_EQ(workload["spec"]["podSets"][0]["count"], 3);
  EXPECT_EQ(QueuePhaseOf(), "Pending");
  EXPECT_EQ(Condition("Queued"), "True");
  EXPECT_EQ(Reason("Queued"), "AwaitingQuota");
  EXPECT_EQ(Reason("Placed"), "AwaitingQuota");
  EXPECT_EQ(Reason("Planned"), "AwaitingQuota");
  EXPECT_EQ(Condition("Stalled"), "(none)");
  EXPECT_EQ(Condition("Suspended"), "(none)") << "its spec does not say so";
  EXPECT_EQ(Status()["workers"], 0);
  SetWorkload("QuotaReserved", false, "Pending", "insufficient quota for nvidia.com/gpu");
  Settle();
  EXPECT_NE(Message("Queued").find("insufficient quota"), std::string::npos);
}

TEST_F(QueueControllerTest, AnAdmittedJobRunsOnTheNodesOfItsFlavor) {
  SeedQueued(3, 3);
  Settle();
  Admit();
  RunQueued();
  ASSERT_EQ(Pods(), 3);
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Pod(0)["spec"]["nodeSelector"]["gpu"], "h100");
  EXPECT_EQ(Pod(0)["spec"]["tolerations"][0]["key"], "team");
  EXPECT_EQ(QueuePhaseOf(), "Admitted");
  EXPECT_EQ(Queue()["clusterQueue"], "gpus");
  EXPECT_EQ(Reason("Queued"), "Waiting") << "for its place";
  EXPECT_TRUE(WorkloadIs("PodsReady"));
  EXPECT_EQ(CountNotices("Admitted"), 1);
  EXPECT_EQ(CountNotices("Evicted"), 0);
}

TEST_F(QueueControllerTest, TheAdmissionIsWrittenBeforeAnyPodIsMade) {
  SeedQueued(2, 2);
  Settle();
  Admit();
  client_.SetHook([this](const kube::Call& call) {
    if (call.verb == kube::Verb::kCreate && kube::WhereOf(call.target) == "pods") {
      EXPECT_EQ(QueuePhaseOf(), "Admitted");
      EXPECT_EQ(Queue()["podSets"][0]["nodeSelector"]["gpu"], "h100");
    }
    return absl::OkStatus();
  });
  Settle();
  client_.SetHook({});
  EXPECT_EQ(Pods(), 2);
}

TEST_F(QueueControllerTest, AnEvictedJobEndsItsPodsThenGivesItsQuotaBackAndRunsAgain) {
  SeedQueued(2, 2);
  Settle();
  Admit();
  RunQueued();
  Evict();
  client_.SetHook([this](const kube::Call& call) {
    if (kube::WhereOf(call.target) == "workloads/status") {
      EXPECT_EQ(Pods(), 0);
    }
    return absl::OkStatus();
  });
  Settle();
  client_.SetHook({});
  EXPECT_EQ(Pods(), 0);
  EXPECT_EQ(QueuePhaseOf(), "Pending");
  EXPECT_FALSE(HoldsQuota());
  EXPECT_FALSE(WorkloadIs("Admitted"));
  EXPECT_FALSE(WorkloadIs("PodsReady"));
  EXPECT_TRUE(WorkloadIs("Requeued"));
  EXPECT_TRUE(WorkloadIs("Evicted"));
  EXPECT_EQ(Status()["restarts"], 0);
  EXPECT_EQ(Condition("Failed"), "(none)");
  EXPECT_EQ(CountNotices("Evicted"), 1);
  Admit();
  RunQueued();
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_TRUE(WorkloadIs("PodsReady"));
}

TEST_F(QueueControllerTest, PodsThatTakeTheirTimeToEndKeepTheQuota) {
  SeedQueued(2, 2);
  Settle();
  Admit();
  RunQueued();
  for (int rank = 0; rank < 2; ++rank) {
    json pod = Pod(rank);
    pod["metadata"]["finalizers"] = {"example.com/slow"};
    client_.Seed(kube::Pods(), pod);
  }
  Evict();
  Settle();
  ASSERT_EQ(Pods(), 2);
  EXPECT_EQ(QueuePhaseOf(), "Evicted");
  EXPECT_TRUE(HoldsQuota());
  for (int rank = 0; rank < 2; ++rank) {
    json pod = Pod(rank);
    pod["metadata"].erase("finalizers");
    client_.Seed(kube::Pods(), pod);
    (void)client_.Delete({kube::Pods(), "team", PodName("a", rank), ""}, {});
  }
  Settle();
  EXPECT_FALSE(HoldsQuota());
}

TEST_F(QueueControllerTest, OtherEvictionsAreQueuedAgainByKueue) {
  SeedQueued(1, 1);
  Settle();
  Admit();
  Settle();
  Evict("PodsReadyTimeout");
  Settle();
  EXPECT_FALSE(HoldsQuota());
  EXPECT_FALSE(WorkloadIs("Requeued"));
}

TEST_F(QueueControllerTest, AWorkloadThatIsDeletedStopsTheJobAndIsMadeAnew) {
  SeedQueued(2, 2);
  Settle();
  Admit();
  RunQueued();
  const json before = Workload();
  ASSERT_TRUE(client_.Delete({Workloads(), "team", before["metadata"]["name"], ""}, {}).ok());
  ASSERT_FALSE(Workload().is_null()) << "its finalizer holds it";
  Settle();
  EXPECT_EQ(Pods(), 0);
  EXPECT_NE(Workload()["metadata"]["uid"], before["metadata"]["uid"]);
  EXPECT_EQ(QueuePhaseOf(), "Pending");
  Admit();
  RunQueued();
  EXPECT_EQ(Condition("Running"), "True");
}

TEST_F(QueueControllerTest, AJobThatHasEndedFinishesItsWorkloadAndLetsItGo) {
  SeedQueued(2, 2);
  Settle();
  Admit();
  RunQueued();
  for (int rank = 0; rank < 2; ++rank) SetPod(rank, "Succeeded", StrCat("n", rank));
  Settle();
  ASSERT_EQ(Condition("Succeeded"), "True");
  EXPECT_TRUE(WorkloadIs("Finished"));
  EXPECT_EQ(ConditionOfWorkload(Workload(), "Finished")["reason"], "Succeeded");
  EXPECT_TRUE(Workload()["metadata"].value("finalizers", json::array()).empty());
}

TEST_F(QueueControllerTest, AJobThatFailsSaysSoInItsWorkload) {
  SeedQueued(2, 2, {{"recovery", {{"maxRestarts", 0}}}});
  Settle();
  Admit();
  RunQueued();
  FailPod(1, 1);
  Settle();
  ASSERT_EQ(Condition("Failed"), "True");
  EXPECT_EQ(ConditionOfWorkload(Workload(), "Finished")["reason"], "Failed");
}

TEST_F(QueueControllerTest, ASuspendedJobHasNoWorkloadAndWaitsAnewWhenItIsResumed) {
  SeedQueued(2, 2);
  Settle();
  Admit();
  RunQueued();
  Suspend(true);
  Settle();
  EXPECT_EQ(Pods(), 0);
  EXPECT_TRUE(Workload().is_null());
  EXPECT_EQ(Condition("Suspended"), "True");
  EXPECT_EQ(QueuePhaseOf(), "None");
  Suspend(false);
  Settle();
  EXPECT_EQ(Pods(), 0);
  ASSERT_FALSE(Workload().is_null());
  Admit();
  RunQueued();
  EXPECT_EQ(Condition("Running"), "True");
}

TEST_F(QueueControllerTest, AnotherSizeOrQueueOfAJobThatWaitsMakesItsWorkloadAnew) {
  SeedQueued(2, 4);
  Settle();
  const std::string first = Workload()["metadata"]["uid"];
  Change({{"workers", 4}});
  Settle();
  EXPECT_EQ(Workload()["spec"]["podSets"][0]["count"], 4);
  EXPECT_NE(Workload()["metadata"]["uid"], first);
  SetQueue("production");
  Settle();
  EXPECT_EQ(Workload()["spec"]["queueName"], "production");
}

TEST_F(QueueControllerTest, AJobWithPodsStaysOutOfTheQueueUntilItHasNone) {
  SeedJob(2, 2);
  RunQueued();
  SetQueue("research");
  Settle();
  EXPECT_EQ(Pods(), 2);
  EXPECT_TRUE(Workload().is_null());
  Suspend(true);
  Settle();
  Suspend(false);
  Settle();
  EXPECT_EQ(Pods(), 0);
  EXPECT_FALSE(Workload().is_null());
}

TEST_F(QueueControllerTest, AJobOfAnotherControllerIsLeftAlone) {
  SeedQueued(2, 2, {{"managedBy", "kueue.x-k8s.io/multikueue"}});
  Settle();
  EXPECT_EQ(Pods(), 0);
  EXPECT_TRUE(Workload().is_null());
  EXPECT_TRUE(Status().empty());
}

TEST_F(QueueControllerTest, AJobThatIsAdmittedThroughItsTemplateIsLeftToThatController) {
  SeedQueued(1, 1,
             {{"template", {{"metadata", {{"labels", {{api::kAdmittedPodSetLabel, "main"}}}}}}}});
  Settle();
  EXPECT_EQ(Pods(), 1);
  EXPECT_TRUE(Workload().is_null());
}

TEST_F(QueueControllerTest, WhereKueueIsNotServedTheJobWaitsAndSaysWhy) {
  for (const QueueService service : {QueueService::kAbsent, QueueService::kOff}) {
    NextLeader(service);
    SeedQueued(2, 2);
    Settle();
    EXPECT_EQ(Pods(), 0);
    EXPECT_EQ(Reason("Stalled"), "QueueUnavailable");
    EXPECT_NE(Message("Stalled").find("research"), std::string::npos);
  }
  NextLeader();  // it has been installed
  Settle();
  EXPECT_EQ(Condition("Stalled"), "False");
  Admit();
  Settle();
  EXPECT_EQ(Pods(), 2);
}

TEST_F(QueueControllerTest, WhileWorkloadsAreReadFirstAJobIsNotSaidToBeHeld) {
  NextLeader(QueueService::kUnknown);
  SeedQueued(2, 2);
  Settle();
  EXPECT_EQ(Condition("Stalled"), "(none)");
  EXPECT_EQ(QueuePhaseOf(), "Pending");
  EXPECT_EQ(Pods(), 0);
  NextLeader(QueueService::kAbsent);
  Settle();
  EXPECT_EQ(Reason("Stalled"), "QueueUnavailable");
}

TEST_F(QueueControllerTest, AnAdmittedJobRunsOnWhereKueueIsNotFollowedAnyMore) {
  SeedQueued(2, 2);
  Settle();
  Admit();
  RunQueued();
  NextLeader(QueueService::kOff);
  Settle();
  EXPECT_EQ(Pods(), 2);
  EXPECT_EQ(QueuePhaseOf(), "Admitted");
  NextLeader();
  Evict();
  Settle();
  NextLeader(QueueService::kOff);
  Settle();
  EXPECT_EQ(Pods(), 0) << "it has no quota";
  EXPECT_NE(Message("Queued").find("does not follow Kueue"), std::string::npos);
}

TEST_F(QueueControllerTest, AWorkloadOfAnotherOwnerIsNamed) {
  client_.Seed(Workloads(), {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                             {"kind", "Workload"},
                             {"metadata", {{"name", "trainingjob-a-job"}, {"namespace", "team"}}},
                             {"spec", {{"podSets", json::array()}}}});
  SeedQueued(2, 2);
  Settle();
  EXPECT_NE(Message("Queued").find("Workload trainingjob-a-job exists and does not belong"),
            std::string::npos)
      << Message("Queued");
  EXPECT_EQ(CountNotices("QueueWaits"), 1);
}

TEST_F(QueueControllerTest, AWorkloadThatIsRefusedSaysWhy) {
  client_.FailNext(kube::Verb::kCreate, "workloads",
                   absl::InvalidArgumentError("podSets: too many"), 100);
  SeedQueued(2, 2);
  Settle();
  EXPECT_NE(Message("Queued").find("podSets: too many"), std::string::npos);
}

TEST_F(QueueControllerTest, AFlavorThatDoesNotExistIsNamedAndTheJobWaits) {
  ASSERT_TRUE(client_.Delete({Flavors(), "", "h100", ""}, {}).ok());
  SeedQueued(2, 2);
  Settle();
  Admit();
  Settle();
  EXPECT_EQ(Pods(), 0);
  EXPECT_NE(Message("Queued").find("ResourceFlavor h100"), std::string::npos);
}

TEST_F(QueueControllerTest, PrioritiesComeFromTheClassOfTheQueueThenOfThePodsThenTheNumber) {
  client_.Seed(KueuePriorityClasses("v1beta2"), {{"metadata", {{"name", "gold"}}}, {"value", 100}});
  client_.Seed({"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false},
               {{"metadata", {{"name", "high"}}}, {"value", 50}});
  SeedQueued(1, 1, {{"priority", 7}});
  Settle();
  EXPECT_EQ(Workload()["spec"]["priority"], 7);
  EXPECT_FALSE(Workload()["spec"].contains("priorityClassRef"));
  Suspend(true);
  Settle();
  Change({{"priority", 0}, {"priorityClassName", "high"}, {"suspend", false}});
  Settle();
  EXPECT_EQ(Workload()["spec"]["priority"], 50);
  EXPECT_EQ(Workload()["spec"]["priorityClassRef"]["kind"], "PriorityClass");
  Suspend(true);
  Settle();
  json job = Job();
  job["metadata"]["labels"][api::kQueuePriorityLabel] = "gold";
  client_.Seed(kube::TrainingJobs(), job);
  Suspend(false);
  Settle();
  EXPECT_EQ(Workload()["spec"]["priority"], 100);
  EXPECT_EQ(Workload()["spec"]["priorityClassRef"]["kind"], "WorkloadPriorityClass");
}

TEST_F(QueueControllerTest, APriorityClassThatDoesNotExistIsNamed) {
  SeedQueued(1, 1, {{"priorityClassName", "missing"}});
  Settle();
  EXPECT_TRUE(Workload().is_null());
  EXPECT_NE(Message("Queued").find("priority class does not exist"), std::string::npos);
}

TEST_F(QueueControllerTest, RolesAreAdmittedWithTheWorkers) {
  const json pod = {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}};
  SeedQueued(2, 3,
             {{"roles", json::array({{{"name", "data"}, {"replicas", 2}, {"template", pod}}})}});
  Settle();
  ASSERT_EQ(Workload()["spec"]["podSets"].size(), 2u);
  EXPECT_EQ(Workload()["spec"]["podSets"][1]["name"], "data");
  Admit();
  RunQueued();
  const auto data = client_.Find(kube::Pods(), "team", "a-data-1");
  ASSERT_TRUE(data);
  EXPECT_EQ((*data)["spec"]["nodeSelector"]["gpu"], "h100");
  Evict();
  Settle();
  EXPECT_EQ(Pods(), 0);
  EXPECT_FALSE(HoldsQuota());
}

TEST_F(QueueControllerTest, AnElasticJobTakesTheLargestSizeThatItsQuotaAllows) {
  SeedQueued(4, 4, {{"elastic", {{"minData", 8}, {"maxData", 32}}}});
  Settle();
  ASSERT_EQ(Workload()["spec"]["podSets"][0]["count"], 4);
  EXPECT_EQ(Workload()["spec"]["podSets"][0]["minCount"], 1);
  Admit(3);
  Settle();
  EXPECT_EQ(Pods(), 3);
  EXPECT_EQ(Status()["elastic"]["data"], 24);
  EXPECT_EQ(Queue()["podSets"][0]["count"], 3);
  Evict();
  Settle();
  ASSERT_EQ(Pods(), 0);
  Admit();
  Settle();
  EXPECT_EQ(Pods(), 4) << "there is quota for all of them now";
}

TEST_F(QueueControllerTest, WorkersThatNeverRunAgainGiveTheirQuotaBack) {
  SeedQueued(3, 3, {{"recovery", {{"onHostLoss", "Replace"}, {"onWorkerFailure", "Replace"}}}});
  Settle();
  Admit();
  RunQueued();
  SetPod(1, "Succeeded", "n1");
  Settle();
  ASSERT_EQ(Workload()["status"]["reclaimablePods"].size(), 1u);
  EXPECT_EQ(Workload()["status"]["reclaimablePods"][0], json({{"name", "main"}, {"count", 1}}));
  Evict();
  Settle();
  EXPECT_TRUE(Workload()["status"].value("reclaimablePods", json()).is_null())
      << "every rank runs again";
}

TEST_F(QueueControllerTest, WorkersOfAJobThatRestartsAsAWholeKeepTheirs) {
  SeedQueued(3, 3);
  Settle();
  Admit();
  RunQueued();
  SetPod(1, "Succeeded", "n1");
  Settle();
  EXPECT_FALSE(Workload()["status"].contains("reclaimablePods"));
}

TEST_F(QueueControllerTest, AWorkloadOfAJobThatIsGoneIsLetGoWhenItsPodsHaveEnded) {
  SeedQueued(1, 1);
  Settle();
  Admit();
  RunQueued();
  // The garbage collector, after the job.
  ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
  cache_->Remove(state::Kind::kTrainingJob,
                 json{{"metadata", {{"name", "a"}, {"namespace", "team"}}}});
  ASSERT_TRUE(client_.Delete({Workloads(), "team", "trainingjob-a-job", ""}, {}).ok());
  ASSERT_TRUE(TryTurn().ok());
  EXPECT_FALSE(Workload().is_null()) << "a pod still uses its quota";
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-0", ""}, {}).ok());
  ASSERT_TRUE(TryTurn().ok());
  EXPECT_TRUE(Workload().is_null());
}

TEST_F(QueueControllerTest, ATopologyOfKueueIsSaidAndNotFollowed) {
  SeedQueued(1, 1);
  Settle();
  Admit();
  json workload = Workload();
  workload["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] = {
      {"levels", {"kubernetes.io/hostname"}}};
  client_.Seed(Workloads(), workload);
  Settle();
  EXPECT_NE(Queue()["message"].get<std::string>().find("topology-aware scheduling"),
            std::string::npos);
  EXPECT_EQ(Pods(), 1);
  EXPECT_FALSE(Pod(0)["spec"]["nodeSelector"].contains("kubernetes.io/hostname"));
}

}  // namespace
}  // namespace yardmaster::op
