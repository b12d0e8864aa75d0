// What another controller of Kueue's does with a job that it admits, evicts and admits again (its
// own way is in queue/): it sets spec.suspend and, in the same write, puts node selectors, labels,
// annotations and gates into the pod templates or takes them out. What it puts there is taken from
// pods of a Job that it managed (test/data/kinds/kueue).
#include <fstream>

#include "pkg/kube/testing/kill_at_write.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class JobKueueTest : public JobFixture {
 protected:
  // What Kueue had added to the first pod of a recording.
  static json Recorded(const std::string& file) {
    std::ifstream in(StrCat(YARDMASTER_SOURCE_DIR, "/test/data/kinds/kueue/", file, ".json"));
    const json objects = json::parse(in, nullptr, /*allow_exceptions=*/false);
    json added;
    for (const json& object : objects) {
      if (object.value("kind", "") != "Pod") continue;
      for (const char* field : {"labels", "annotations"}) {
        for (const auto& [key, value] : object["metadata"][field].items()) {
          if (key.starts_with("kueue.x-k8s.io/")) added["metadata"][field][key] = value;
        }
      }
      added["spec"]["nodeSelector"] = object["spec"]["nodeSelector"];
      added["spec"]["schedulingGates"] = object["spec"]["schedulingGates"];
      break;
    }
    added["spec"]["tolerations"] = json::array({{{"key", "team"}, {"operator", "Exists"}}});
    return added;
  }
  void SeedSuspended(const json& spec = json::object()) {
    json all = spec;
    all["suspend"] = true;
    all["template"]["spec"]["nodeSelector"] = {{"pool", "training"}};
    SeedJob(3, 3, all);
    json job = Job();
    job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "research";
    client_.Seed(kube::TrainingJobs(), job);
    stopped_ = Job()["spec"];
  }
  // Kueue's RunWithPodSetsInfo, one write.
  void Admit(const json& added) {
    json job = Job();
    job["spec"]["suspend"] = false;
    job["spec"]["template"].merge_patch(added);
    if (job["spec"].contains("roles")) {
      for (json& role : job["spec"]["roles"]) role["template"].merge_patch(added);
    }
    client_.Seed(kube::TrainingJobs(), job);
  }
  // Suspend and RestorePodSetsInfo, one write.
  void Evict() {
    json job = Job();
    job["spec"] = stopped_;
    client_.Seed(kube::TrainingJobs(), job);
  }
  void AddQueueLabel() {
    json job = Job();
    job["metadata"]["labels"][api::kQueueLabel] = "research";
    client_.Seed(kube::TrainingJobs(), job);
  }
  int Pods() { return static_cast<int>(client_.All(kube::Pods()).size()); }

  json stopped_;
};

std::set<std::string> GatesOf(const json& pod) {
  std::set<std::string> gates;
  for (const json& gate : pod["spec"]["schedulingGates"]) gates.insert(gate["name"]);
  return gates;
}

TEST_F(JobKueueTest, AQueuedJobHasNoPodsAndSaysSo) {
  SeedSuspended();
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
  EXPECT_EQ(Status()["workers"], 0) << "it is not active";
  EXPECT_EQ(Condition("Suspended"), "True");
}

TEST_F(JobKueueTest, AJobWithAQueueThatNothingAdmitsGetsNoPodsAndSaysWhy) {
  SeedJob(3, 3);
  AddQueueLabel();
  RunUntilStable();
  EXPECT_EQ(Pods(), 0) << "it would run past the quota of its queue";
  EXPECT_EQ(Reason("Stalled"), "QueueUnavailable");
  EXPECT_NE(Message("Stalled").find("Kueue's queue research"), std::string::npos);
  EXPECT_EQ(Message("Planned"), Message("Stalled"));
  EXPECT_EQ(Message("Queued"), Message("Stalled"));
  EXPECT_EQ(CountNotices("Stalled"), 1);
  json job = Job();
  job["metadata"]["labels"].erase(api::kQueueLabel);
  client_.Seed(kube::TrainingJobs(), job);
  RunUntilStable();
  EXPECT_EQ(Pods(), 3);
  EXPECT_EQ(Condition("Stalled"), "False");
  EXPECT_EQ(Reason("Planned"), "Waiting");
}

TEST_F(JobKueueTest, ALabelThatIsAddedToAJobWithPodsChangesNothing) {
  SeedJob(2, 3);
  RunAll();
  AddQueueLabel();
  RunUntilStable();
  EXPECT_EQ(Pods(), 2);
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Condition("Stalled"), "(none)");
}

TEST_F(JobKueueTest, AJobThatHasRunIsNotHeldByAQueueWhenItHasNoPod) {
  SeedJob(1, 3);
  RunAll();
  AddQueueLabel();
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-0", ""}, {}).ok());
  RunUntilStable();
  EXPECT_EQ(Pods(), 1) << "its hosts are promised to it";
  Suspend(true);
  RunUntilStable();
  ASSERT_EQ(Pods(), 0);
  Suspend(false);
  RunUntilStable();
  EXPECT_EQ(Pods(), 1);
  EXPECT_EQ(Condition("Stalled"), "(none)");
}

TEST_F(JobKueueTest, AJobThatHasAPlaceIsNotHeldByAQueue) {
  SeedJob(2, 3);
  AddQueueLabel();
  api::Gang gang = SeedGangOfTwo();
  gang.owner = {api::kGroupVersion, api::kTrainingJobKind, "a", "earlier"};
  client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  RunUntilStable();
  EXPECT_EQ(Pods(), 0) << "the place of an earlier job of this name";
  gang.owner.uid = "job";
  client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  RunUntilStable();
  EXPECT_EQ(Pods(), 2);
}

TEST_F(JobKueueTest, AQueuedJobThatIsResumedWithoutAnAdmissionIsHeld) {
  SeedSuspended();
  RunUntilStable();
  Suspend(false);
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
  EXPECT_EQ(Reason("Stalled"), "QueueUnavailable");
  Suspend(true);
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "False");
  EXPECT_EQ(Reason("Stalled"), "Suspended");
}

TEST_F(JobKueueTest, AGateOfOthersIsNamedWhileItsPodsWaitBehindIt) {
  SeedJob(2, 2,
          {{"template",
            {{"spec", {{"schedulingGates", json::array({{{"name", "quota.example/held"}}})}}}}}});
  RunUntilStable();
  EXPECT_EQ(Pods(), 2);
  EXPECT_EQ(Reason("Planned"), "HeldByOthers");
  EXPECT_NE(Message("Planned").find(
                "2 pods wait behind the scheduling gate quota.example/held, which is not"),
            std::string::npos)
      << Message("Planned");
}

TEST_F(JobKueueTest, AGateOfOthersThatKeepsAPlacedRankFromRunningIsNamed) {
  SeedJob(2, 2, {{"recovery", {{"onWorkerFailure", "Replace"}}}});
  RunAll();
  FailPod(1, 1);
  RunUntilStable();
  json pod = Pod(1);
  pod["spec"]["schedulingGates"].push_back({{"name", "quota.example/held"}});
  client_.Seed(kube::Pods(), pod);
  RunUntilStable();
  for (const char* type : {"Running", "Degraded"}) {
    EXPECT_NE(Message(type).find("1 of 2 workers running; 1 pod waits behind the scheduling gate "
                                 "quota.example/held"),
              std::string::npos)
        << Message(type);
  }
}

TEST_F(JobKueueTest, PodsOfAnAdmittedJobHaveAllThatWasPutIntoItsTemplate) {
  SeedSuspended();
  RunUntilStable();
  const json added = Recorded("job-1b-pods-gated");
  ASSERT_TRUE(added["metadata"]["labels"].contains("kueue.x-k8s.io/podset"));
  Admit(added);
  RunUntilStable();
  ASSERT_EQ(Pods(), 3);
  for (int rank = 0; rank < 3; ++rank) {
    const json pod = Pod(rank);
    for (const char* field : {"labels", "annotations"}) {
      for (const auto& [key, value] : added["metadata"][field].items()) {
        EXPECT_EQ(pod["metadata"][field].value(key, ""), value) << key;
      }
    }
    EXPECT_EQ(pod["spec"]["nodeSelector"],
              json({{"pool", "training"}, {"node.kubernetes.io/instance-type", "h100x8"}}));
    EXPECT_EQ(pod["spec"]["tolerations"][0]["key"], "team");
    EXPECT_EQ(GatesOf(pod),
              (std::set<std::string>{"kueue.x-k8s.io/topology", api::kPlacementGate}));
    EXPECT_EQ(pod["metadata"]["labels"][api::kRankLabel], StrCat(rank)) << "for Kueue's topology";
  }
}

TEST_F(JobKueueTest, AnEvictedJobEndsItsPodsAndRunsAgainWithWhatIsPutInThen) {
  SeedSuspended();
  RunUntilStable();
  Admit(Recorded("job-1b-pods-gated"));
  RunAll();
  EXPECT_EQ(Condition("Running"), "True") << "Kueue's PodsReady";
  Evict();
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
  EXPECT_EQ(Status()["workers"], 0);
  EXPECT_EQ(Condition("Running"), "False");
  EXPECT_EQ(Condition("Failed"), "(none)");
  json other = Recorded("job-5b-readmitted-pods-gated");
  other["spec"]["nodeSelector"] = {{"example.com/flavor", "h800"}};
  Admit(other);
  RunAll();
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Status()["restarts"], 0);
  EXPECT_EQ(Pod(0)["spec"]["nodeSelector"],
            json({{"pool", "training"}, {"example.com/flavor", "h800"}}));
}

TEST_F(JobKueueTest, AnEvictionThatIsCutAtAnyWriteEndsWithoutPodsAndTheNextAdmissionIsWhole) {
  for (int kill_at = 0; kill_at < 6; ++kill_at) {
    SeedSuspended();
    NewLeader();
    RunUntilStable();
    Admit(Recorded("job-1b-pods-gated"));
    RunAll();
    Evict();
    {
      kube::KillAtWrite kill(client_, kill_at);
      (void)TryReconcile();
    }
    NewLeader();
    RunUntilStable();
    EXPECT_EQ(Pods(), 0) << kill_at;
    Admit(Recorded("job-5b-readmitted-pods-gated"));
    RunAll();
    EXPECT_EQ(Condition("Running"), "True") << kill_at;
  }
}

TEST_F(JobKueueTest, APodSetOfARoleIsAdmittedLikeThatOfTheWorkers) {
  const json pod = {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}};
  SeedSuspended({{"roles", json::array({{{"name", "launcher"}, {"template", pod}}})}});
  RunUntilStable();
  json added = Recorded("job-1b-pods-gated");
  added["spec"].erase("schedulingGates");
  Admit(added);
  RunAll();
  const auto launcher = client_.Find(kube::Pods(), "team", "a-launcher-0");
  ASSERT_TRUE(launcher);
  EXPECT_EQ((*launcher)["metadata"]["labels"]["kueue.x-k8s.io/podset"], "main");
  EXPECT_EQ((*launcher)["spec"]["nodeSelector"]["node.kubernetes.io/instance-type"], "h100x8");
  Evict();
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
}

}  // namespace
}  // namespace yardmaster::op
