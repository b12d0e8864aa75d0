// Jobs some of whose ranks have ended for good: what is left of them is placed.
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class EndedRanksTest : public BatchJobFixture {
 protected:
  // Passes until nothing is asked any more.
  void RunUntilStable(Process& process) {
    for (int i = 0; i < 4; ++i) {
      process.Pass();
      clock_.Advance(3'000);
    }
    process.Pass();
  }
  std::string PodOfIndex(const std::string& job, int index) {
    for (const json& pod : PodsOf(job)) {
      if (pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] ==
          std::to_string(index)) {
        return pod["metadata"]["name"];
      }
    }
    return "";
  }
  void SetJobStatus(const std::string& job, const char* field, const char* indexes) {
    ChangeJob(job, [&](json& object) { object["status"][field] = indexes; });
  }
  // Two pods run, the first ends in `phase`, the job is suspended and resumed.
  std::string RunAndResume(Process& process, const char* phase) {
    AddBatchJob("a", 2);
    process.Pass();
    RunReleasedPods();
    process.Pass();
    SetPhase(PodOfIndex("a", 0), phase);
    SuspendJob("a", true);
    DeletePod(PodOfIndex("a", 1));
    process.Pass();
    EXPECT_TRUE(HostsOf("job-a").empty());
    SuspendJob("a", false);
    return AddJobPod("a", 1, "tp=8,dp=2");
  }
  bool IsReleased(const std::string& pod) {
    const json object = *client_.Find(kube::Pods(), "team", pod);
    return !Gated(object) && !PinnedTo(object).empty();
  }
};

TEST_F(EndedRanksTest, AResumedJobWithAFinishedIndexIsPlacedWithTheOthers) {
  Process process(*this, true);
  const std::string pod = RunAndResume(process, "Succeeded");
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
  EXPECT_TRUE(IsReleased(pod));
}

TEST_F(EndedRanksTest, AlsoWhenTheFinishedPodIsGone) {
  Process process(*this, true);
  const std::string pod = RunAndResume(process, "Succeeded");
  DeletePod(PodOfIndex("a", 0));
  SetJobStatus("a", "completedIndexes", "0");
  RunUntilStable(process);
  EXPECT_TRUE(IsReleased(pod));
}

TEST_F(EndedRanksTest, AlsoWithAnIndexThatFailedForGood) {
  Process process(*this, true);
  const std::string pod = RunAndResume(process, "Failed");
  RunUntilStable(process);
  EXPECT_FALSE(IsReleased(pod)) << "its Job makes the other one again";
  SetJobStatus("a", "failedIndexes", "0");
  clock_.Advance(10'000);
  RunUntilStable(process);
  EXPECT_TRUE(IsReleased(pod));
}

TEST_F(EndedRanksTest, AnotherProcessFindsOutAsWell) {
  Process process(*this, true);
  const std::string pod = RunAndResume(process, "Failed");
  SetJobStatus("a", "failedIndexes", "0");
  Process next(*this, true);
  RunUntilStable(next);
  EXPECT_TRUE(IsReleased(pod));
}

TEST_F(EndedRanksTest, AJobThatMadeRoomComesBackWithWhatIsLeftOfIt) {
  Process process(*this, true);
  AddBatchJob("a", 2);
  process.Pass();
  RunReleasedPods();
  process.Pass();
  SetPhase(PodOfIndex("a", 1), "Succeeded");
  AddBatchJob("high", 6);
  for (json pod : PodsOf("high")) {
    pod["spec"]["priority"] = 100;
    client_.Seed(kube::Pods(), pod);
  }
  for (int i = 0; i < 4; ++i) process.Pass();
  EXPECT_EQ(HostsOf("job-high").size(), 6u);
  EXPECT_TRUE(HostsOf("job-a").empty());
  const std::string again = AddJobPod("a", 0, "tp=8,dp=2");
  process.Pass();
  EXPECT_FALSE(IsReleased(again));
  SetPhases("high", "Succeeded");
  process.Pass();
  process.Pass();
  EXPECT_TRUE(IsReleased(again));
}

TEST_F(EndedRanksTest, AGangWithAnEndedRankCountsAsRunningInFull) {
  planner_options_.gates.ready_timeout_ms = 60'000;
  Process process(*this, true);
  const std::string name = RunAndResume(process, "Succeeded");
  process.Pass();
  json pod = *client_.Find(kube::Pods(), "team", name);
  pod["spec"]["nodeName"] = PinnedTo(pod);
  client_.Seed(kube::Pods(), pod);
  clock_.Advance(50'000);
  process.Pass();
  EXPECT_TRUE(IsTrue("job-a", "Running"));
  clock_.Advance(600'000);
  EXPECT_EQ(process.Pass().evicted_pods, 0);
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
}

TEST_F(EndedRanksTest, ASetThatLacksARankThatHasNotEndedWaits) {
  Process process(*this, true);
  AddBatchJob("a", 3);
  process.Pass();
  RunReleasedPods();
  SetPhase(PodOfIndex("a", 0), "Succeeded");
  SuspendJob("a", true);
  DeletePod(PodOfIndex("a", 1));
  DeletePod(PodOfIndex("a", 2));
  process.Pass();
  SuspendJob("a", false);
  SetJobStatus("a", "completedIndexes", "0");
  const std::string pod = AddJobPod("a", 2, "tp=8,dp=3");
  RunUntilStable(process);
  EXPECT_FALSE(IsReleased(pod));
  AddJobPod("a", 1, "tp=8,dp=3");
  RunUntilStable(process);
  EXPECT_TRUE(IsReleased(pod));
}

// One index has finished and its pod is gone; one more pod is missing.
TEST_F(EndedRanksTest, AnOwnerWithNothingNewToSayIsAskedEverLessOften) {
  Process process(*this, true);
  AddBatchJob("a", 3);
  process.Pass();
  RunReleasedPods();
  SetPhase(PodOfIndex("a", 0), "Succeeded");
  SuspendJob("a", true);
  DeletePod(PodOfIndex("a", 1));
  DeletePod(PodOfIndex("a", 2));
  process.Pass();
  DeletePod(PodOfIndex("a", 0));
  SuspendJob("a", false);
  SetJobStatus("a", "completedIndexes", "0");
  const std::string pod = AddJobPod("a", 2, "tp=8,dp=3");
  client_.ClearCalls();
  for (int pass = 0; pass < 600; ++pass) {
    process.Pass();
    clock_.Advance(100);
  }
  const int asked = client_.CountCalls(kube::Verb::kGet, "jobs");
  EXPECT_GT(asked, 2);
  EXPECT_LT(asked, 15);
  AddJobPod("a", 1, "tp=8,dp=3");
  RunUntilStable(process);
  EXPECT_TRUE(IsReleased(pod)) << "what it said is remembered";
}

class EndedRanksOfKindsTest : public EndedRanksTest {
 protected:
  void AddJobSet(const std::string& set, int jobs, int pods) {
    json object = json::parse(R"({
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"namespace": "team"}, "spec": {"replicatedJobs": [{"name": "w"}]}})");
    object["metadata"].update({{"name", set}, {"uid", "uid-" + set}});
    object["spec"]["replicatedJobs"][0].update(
        {{"replicas", jobs},
         {"template", {{"spec", {{"completions", pods}, {"parallelism", pods}}}}}});
    client_.Seed({"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true}, object);
    pods_of_[set] = jobs * pods;
  }
  std::string AddJobSetPod(int job, int index, const std::string& set = "s") {
    const std::string name = StrCat(set, "-", job, "-", index, "-", ++made_);
    const std::string job_name = StrCat(set, "-w-", job);
    client_.Seed(kube::Pods(),
                 GatedPod(name, {{api::kGpuResource, "8"}},
                          {{"jobset.sigs.k8s.io/jobset-name", set},
                           {"jobset.sigs.k8s.io/jobset-uid", "uid-" + set},
                           {"jobset.sigs.k8s.io/job-global-index", StrCat(job)},
                           {"batch.kubernetes.io/job-name", job_name},
                           {"batch.kubernetes.io/job-completion-index", StrCat(index)}},
                          {{"apiVersion", "batch/v1"},
                           {"kind", "Job"},
                           {"name", job_name},
                           {"uid", Uid(job_name)},
                           {"controller", true}},
                          StrCat("tp=8,dp=", pods_of_[set])));
    return name;
  }
  std::string AddMpiWorker(int index) {
    const std::string name = StrCat("m-worker-", index);
    client_.Seed(kube::Pods(), GatedPod(name, {{api::kGpuResource, "8"}},
                                        {{"training.kubeflow.org/job-name", "m"},
                                         {"training.kubeflow.org/operator-name", "mpi-operator"},
                                         {"training.kubeflow.org/job-role", "worker"},
                                         {"training.kubeflow.org/replica-index", StrCat(index)}},
                                        {{"apiVersion", "kubeflow.org/v2beta1"},
                                         {"kind", "MPIJob"},
                                         {"name", "m"},
                                         {"uid", "uid-m"},
                                         {"controller", true}},
                                        "tp=8,dp=2"));
    return name;
  }
  void TakePlace(const std::string& gang, bool suspended) {
    json object = Gang(gang);
    object["status"]["assignments"] = json::array();
    if (suspended) object["status"]["planGeneration"] = 1;
    client_.Seed(kube::Gangs(), object);
  }

  int made_ = 0;
  std::map<std::string, int> pods_of_;  // by JobSet
};

TEST_F(EndedRanksOfKindsTest, AJobSetOfWhichAWholeJobHasEnded) {
  AddJobSet("s", 2, 2);
  for (int pod = 0; pod < 4; ++pod) AddJobSetPod(pod / 2, pod % 2);
  Process process(*this, true);
  process.Pass();
  ASSERT_EQ(HostsOf("jobset-s").size(), 4u);
  for (const json& pod : client_.All(kube::Pods())) DeletePod(pod["metadata"]["name"]);
  TakePlace("jobset-s", true);
  client_.Seed(BatchJobs(), json::parse(R"({
      "apiVersion": "batch/v1", "kind": "Job",
      "metadata": {"name": "s-w-0", "namespace": "team", "uid": "uid-s-w-0"},
      "status": {"completedIndexes": "0-1"}})"));
  const std::string a = AddJobSetPod(1, 0);
  const std::string b = AddJobSetPod(1, 1);
  RunUntilStable(process);
  EXPECT_EQ(HostsOf("jobset-s").size(), 4u);
  EXPECT_TRUE(IsReleased(a));
  EXPECT_TRUE(IsReleased(b));
}

TEST_F(EndedRanksOfKindsTest, TheJobsOfManyJobSetsAreReadAFewInAPass) {
  constexpr int kJobs = 40;  // of one pod; there is no room for so many
  const std::vector<std::string> sets = {"r", "s", "t"};
  for (const std::string& set : sets) {
    AddJobSet(set, kJobs, 1);
    for (int job = 0; job < kJobs; ++job) AddJobSetPod(job, 0, set);
  }
  Process process(*this, true);
  process.Pass();
  for (const json& pod : client_.All(kube::Pods())) {
    if (pod["metadata"]["labels"]["jobset.sigs.k8s.io/job-global-index"] != "0") {
      DeletePod(pod["metadata"]["name"]);
    }
  }
  process.Pass();
  clock_.Advance(3'000);
  std::map<std::string, int> read;
  for (int pass = 0; pass < 6; ++pass) {
    client_.ClearCalls();
    process.Pass();
    EXPECT_LE(client_.CountCalls(kube::Verb::kGet, "jobs"), 16);
    for (const kube::Call& call : client_.calls()) {
      if (call.target.resource == BatchJobs()) ++read[call.target.name.substr(0, 1)];
    }
    clock_.Advance(100);
  }
  for (const std::string& set : sets) EXPECT_GE(read[set], 16) << set << " had its turn";
}

TEST_F(EndedRanksOfKindsTest, AJobThatCannotBeReadTakesNothingBackThatWasSaid) {
  AddJobSet("s", 2, 2);
  for (int pod = 0; pod < 4; ++pod) AddJobSetPod(pod / 2, pod % 2);
  Process process(*this, true);
  process.Pass();
  for (const json& pod : client_.All(kube::Pods())) DeletePod(pod["metadata"]["name"]);
  TakePlace("jobset-s", true);
  client_.Seed(BatchJobs(), json::parse(R"({
      "apiVersion": "batch/v1", "kind": "Job",
      "metadata": {"name": "s-w-0", "namespace": "team", "uid": "uid-s-w-0"},
      "status": {"completedIndexes": "0-1"}})"));
  const std::string first = AddJobSetPod(1, 0);
  RunUntilStable(process);
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    return call.target.resource == BatchJobs() ? absl::UnavailableError("down") : absl::OkStatus();
  });
  clock_.Advance(30'000);
  RunUntilStable(process);
  AddJobSetPod(1, 1);
  process.Pass();
  EXPECT_TRUE(IsReleased(first));
}

TEST_F(EndedRanksOfKindsTest, AnMpiJobWithAFailedWorkerThatIsNotMadeAgain) {
  const std::string first = AddMpiWorker(0);
  const std::string second = AddMpiWorker(1);
  Process process(*this, true);
  process.Pass();
  ASSERT_EQ(HostsOf("mpijob-m").size(), 2u);
  RunReleasedPods();
  SetPhase(first, "Failed");
  DeletePod(second);
  TakePlace("mpijob-m", false);
  AddMpiWorker(1);
  process.Pass();
  EXPECT_TRUE(IsReleased(second));
}

}  // namespace
}  // namespace yardmaster::extender
