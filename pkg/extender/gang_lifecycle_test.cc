// Jobs whose pods fail, are retried, suspended, resumed and scaled.
#include <set>

#include "gtest/gtest.h"

#include "pkg/api/pin_patch.h"
#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class GangLifecycleTest : public BatchJobFixture {};

TEST_F(GangLifecycleTest, ARetriedPodGoesToTheHostOfItsRankThoughEveryPodHadFailed) {
  AddBatchJob("a", 3);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  const auto hosts = HostsOf("job-a");
  ASSERT_EQ(hosts.size(), 3u);
  SetPhases("a", "Failed");
  process.Pass();
  EXPECT_FALSE(IsTrue("job-a", "Finished")) << "its Job makes the pods again";
  AddBatchJob("b", 4);
  process.Pass();
  EXPECT_TRUE(HostsOf("job-b").empty()) << "the hosts are still the first job's";
  for (int index = 2; index >= 0; --index) {
    const std::string pod = AddJobPod("a", index, "tp=8,dp=3");
    EXPECT_EQ(process.Pass().released_pods, 1);
    EXPECT_EQ(PinnedTo(*client_.Find(kube::Pods(), "team", pod)),
              hosts[static_cast<std::size_t>(index)]);
  }
  EXPECT_EQ(HostsOf("job-a"), hosts);
}

TEST_F(GangLifecycleTest, AGangEndsWithItsJobAndNotWithItsPods) {
  for (const char* end : {"Complete", "Failed"}) {
    SCOPED_TRACE(end);
    const std::string name = end == std::string("Failed") ? "f" : "c";
    AddBatchJob(name, 6);
    Process process(*this, true);
    process.Pass();
    ASSERT_EQ(HostsOf("job-" + name).size(), 6u);
    SetPhases(name, "Failed");
    process.Pass();
    EXPECT_FALSE(IsTrue("job-" + name, "Finished"));
    EndJob(name, end);
    clock_.Advance(10'000);  // within the time for which a gang without pods keeps its hosts
    EXPECT_EQ(process.Pass().given_back, 1);
    EXPECT_TRUE(IsTrue("job-" + name, "Finished"));
  }
}

TEST_F(GangLifecycleTest, APassAsksTheOwnersOfAFewOfManyIncompleteGangsAndEachHasItsTurn) {
  constexpr int kJobs = 40;
  for (int i = 0; i < kJobs; ++i) {
    AddBatchJob(StrCat("j", i), 2);
    DeletePod(PodsOf(StrCat("j", i)).back()["metadata"]["name"]);
  }
  Process process(*this, true);
  process.Pass();
  clock_.Advance(3'000);
  client_.ClearCalls();
  EXPECT_EQ(process.Pass().wake_in_ms, 0);
  EXPECT_LE(client_.CountCalls(kube::Verb::kGet, "jobs"), 16);
  process.Pass();
  process.Pass();
  std::set<std::string> asked;
  for (const kube::Call& call : client_.calls()) {
    if (call.verb == kube::Verb::kGet) asked.insert(call.target.name);
  }
  EXPECT_EQ(asked.size(), static_cast<std::size_t>(kJobs));
}

TEST_F(GangLifecycleTest, WhenEveryRankSucceededNothingIsAsked) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  SetPhases("a", "Succeeded");
  client_.ClearCalls();
  process.Pass();
  EXPECT_TRUE(IsTrue("job-a", "Finished"));
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "jobs"), 0);
}

TEST_F(GangLifecycleTest, AJobThatIsGoneGivesItsHostsBack) {
  AddBatchJob("a", 6);
  Process process(*this, true);
  process.Pass();
  DeletePodsOf("a");
  ASSERT_TRUE(client_.Delete({BatchJobs(), "team", "a", ""}, {}).ok());
  AddBatchJob("b", 6);
  process.Pass();
  EXPECT_EQ(HostsOf("job-b").size(), 6u);
}

TEST_F(GangLifecycleTest, ATrainingJobOfOneWorkerThatFailsOnceRunsAgainOnItsHost) {
  AddJob("a", 1);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  const json before = Slots("a");
  SetPhase("a-0", "Failed");
  process.Pass();
  process.Pass();
  DeletePod("a-0");
  AddPod("a", 0);
  EXPECT_EQ(process.Pass().released_pods, 1);
  EXPECT_EQ(Slots("a"), before);
  CheckPromises();
}

TEST_F(GangLifecycleTest, ASuspendedJobGivesItsHostsBackAtOnceAndIsPlannedAgainWhenResumed) {
  AddBatchJob("a", 6);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  AddBatchJob("b", 6);
  process.Pass();
  EXPECT_TRUE(HostsOf("job-b").empty());
  SuspendJob("a", true);
  // The pods take their grace period; until they have gone nothing is given away.
  for (json pod : PodsOf("a")) {
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    pod["metadata"]["finalizers"] = json::array({"batch.kubernetes.io/job-tracking"});
    client_.Seed(kube::Pods(), pod);
  }
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 6u);
  EXPECT_TRUE(HostsOf("job-b").empty());
  for (json pod : PodsOf("a")) {
    pod["metadata"].erase("finalizers");
    client_.Seed(kube::Pods(), pod);
    client_.Delete({kube::Pods(), "team", pod["metadata"]["name"], ""}, {}).IgnoreError();
  }
  const PassReport report = process.Pass();
  EXPECT_EQ(report.given_back, 1);
  EXPECT_TRUE(HostsOf("job-a").empty());
  EXPECT_EQ(HostsOf("job-b").size(), 6u) << "in the same pass";
  EXPECT_FALSE(IsTrue("job-a", "Finished"));
  EXPECT_NE(NoticesAbout("HostsGivenBack").find("Job team/a is suspended"), std::string::npos);

  SuspendJob("a", false);
  for (int index = 0; index < 6; ++index) AddJobPod("a", index, "tp=8,dp=6");
  process.Pass();
  EXPECT_TRUE(HostsOf("job-a").empty()) << "it waits like any other job";
  SetPhases("b", "Succeeded");
  EXPECT_EQ(process.Pass().released_pods, 6);
  EXPECT_EQ(HostsOf("job-a").size(), 6u);
}

TEST_F(GangLifecycleTest, AJobResumedWithAnotherSizeIsPlannedWithIt) {
  AddBatchJob("a", 3);
  Process process(*this, true);
  process.Pass();
  SuspendJob("a", true);
  DeletePodsOf("a");
  process.Pass();
  SuspendJob("a", false);
  for (int index = 0; index < 5; ++index) {
    EXPECT_TRUE(HostsOf("job-a").empty()) << "only " << index << " pods are there";
    AddJobPod("a", index, "tp=8,dp=5");
    process.Pass();
  }
  EXPECT_EQ(Gang("job-a")["spec"]["workers"], 5);
  EXPECT_EQ(HostsOf("job-a").size(), 5u);
}

TEST_F(GangLifecycleTest, AJobScaledAfterItWasPlacedHearsWhyItsNewPodsWait) {
  AddBatchJob("a", 3);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  const auto hosts = HostsOf("job-a");
  AddJobPod("a", 3, "tp=8,dp=3");
  const std::string last = AddJobPod("a", 4, "tp=8,dp=3");
  process.Pass();
  const PassReport report = process.Pass();
  EXPECT_EQ(HostsOf("job-a"), hosts);
  EXPECT_TRUE(Gated(*client_.Find(kube::Pods(), "team", last)));
  ASSERT_EQ(report.problems.size(), 2u) << Join(report.problems, "\n");
  EXPECT_NE(report.problems[1].find("its index 4 lies outside gang job-a"), std::string::npos);
  EXPECT_NE(report.problems[1].find("suspend the job"), std::string::npos);
  EXPECT_EQ(CountNotices("NotInGang"), 2) << "one event a pod, once";
}

TEST_F(GangLifecycleTest, PodsThatAskForDifferentAmountsArePlacedRoleByRole) {
  AddBatchJob("a", 3);
  for (json pod : PodsOf("a")) {
    const bool leads = pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == "0";
    pod["spec"]["containers"][0]["resources"]["requests"]["memory"] = leads ? "1000Gi" : "100Gi";
    client_.Seed(kube::Pods(), pod);
  }
  for (json node : client_.All(kube::Nodes())) {
    const bool large = node["metadata"]["name"] == NodeName(1, 1);
    node["status"]["allocatable"]["cpu"] = "100";
    node["status"]["allocatable"]["pods"] = "110";
    node["status"]["allocatable"]["memory"] = large ? "2000Gi" : "200Gi";
    client_.Seed(kube::Nodes(), node);
  }
  Process process(*this, true);
  process.Pass();
  const auto hosts = HostsOf("job-a");
  ASSERT_EQ(hosts.size(), 3u) << "no host but one has room for the largest of each";
  EXPECT_EQ(hosts[0], NodeName(1, 1));
  EXPECT_EQ(Gang("job-a")["spec"]["roles"].size(), 2u);
  RunReleasedPods();
  EXPECT_TRUE(process.Pass().errors.empty());
  EXPECT_EQ(HostsOf("job-a"), hosts);
}

TEST_F(GangLifecycleTest, PodsThatSelectDifferentNodesArePlacedRoleByRole) {
  for (json node : client_.All(kube::Nodes())) {
    const bool leads = node["metadata"]["name"] == NodeName(1, 1);
    node["metadata"]["labels"]["pool"] = leads ? "lead" : "work";
    client_.Seed(kube::Nodes(), node);
  }
  AddBatchJob("a", 3);
  for (json pod : PodsOf("a")) {
    const bool leads = pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == "0";
    pod["spec"]["nodeSelector"]["pool"] = leads ? "lead" : "work";
    client_.Seed(kube::Pods(), pod);
  }
  Process process(*this, true);
  process.Pass();
  const auto hosts = HostsOf("job-a");
  ASSERT_EQ(hosts.size(), 3u) << "no host is in both pools";
  EXPECT_EQ(hosts[0], NodeName(1, 1));
  EXPECT_EQ(std::count(hosts.begin(), hosts.end(), NodeName(1, 1)), 1);
  const json spec = Gang("job-a")["spec"];
  ASSERT_EQ(spec["roles"].size(), 2u);
  EXPECT_EQ(spec["constraints"]["nodeSelector"]["pool"], "lead");
  EXPECT_EQ(spec["roles"][1]["constraints"]["nodeSelector"]["pool"], "work");
  // What the release wrote into the pods is not what their roles ask for.
  RunReleasedPods();
  ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "job-a", ""}, {}).ok());
  EXPECT_TRUE(process.Pass().errors.empty());
  EXPECT_TRUE(process.Pass().errors.empty());
  EXPECT_EQ(Gang("job-a")["spec"]["constraints"], spec["constraints"]);
  EXPECT_EQ(Gang("job-a")["spec"]["roles"], spec["roles"]);
  EXPECT_EQ(HostsOf("job-a"), hosts);
}

TEST_F(GangLifecycleTest, AFinishedGangWhosePodsComeAgainWaitsForAPlace) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  SetPhases("a", "Succeeded");
  process.Pass();
  ASSERT_TRUE(IsTrue("job-a", "Finished"));
  DeletePodsOf("a");
  for (int index = 0; index < 2; ++index) AddJobPod("a", index, "tp=8,dp=2");
  process.Pass();
  process.Pass();
  EXPECT_FALSE(IsTrue("job-a", "Finished"));
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
  for (const json& pod : PodsOf("a")) EXPECT_FALSE(Gated(pod));
}

TEST_F(GangLifecycleTest, APodGroupOfKubernetesSaysHowManyPodsThereAre) {
  for (int index = 0; index < 3; ++index) {
    json pod = *client_.Find(kube::Pods(), "team", AddJobPod("g", index, "tp=8"));
    pod["spec"]["schedulingGroup"] = {{"podGroupName", "group"}};
    client_.Seed(kube::Pods(), pod);
  }
  Process process(*this, true);
  const PassReport before = process.Pass();
  ASSERT_EQ(before.problems.size(), 1u);
  EXPECT_NE(before.problems[0].find("do not say how many they are"), std::string::npos);
  client_.Seed({"scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup", true},
               {{"apiVersion", "scheduling.k8s.io/v1alpha2"},
                {"kind", "PodGroup"},
                {"metadata", {{"name", "group"}, {"namespace", "team"}}},
                {"spec", {{"schedulingPolicy", {{"gang", {{"minCount", 3}}}}}}}});
  clock_.Advance(250);
  process.Pass();
  EXPECT_EQ(HostsOf("job-g").size(), 3u);
}

TEST_F(GangLifecycleTest, AnOwnerThatCannotBeReadKeepsItsHostsAndSaysSo) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  DeletePodsOf("a");
  client_.FailNext(kube::Verb::kGet, "jobs.batch", absl::PermissionDeniedError("forbidden"));
  client_.FailNext(kube::Verb::kGet, "jobs", absl::PermissionDeniedError("forbidden"));
  const PassReport report = process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("its hosts stay promised"), std::string::npos);
  EXPECT_LT(report.wake_in_ms, 1'000) << "it is asked again soon";
}

TEST_F(GangLifecycleTest, APodGroupIsNotReadInEveryPass) {
  for (int index = 0; index < 3; ++index) {
    json pod = *client_.Find(kube::Pods(), "team", AddJobPod("g", index, "tp=8"));
    pod["spec"]["schedulingGroup"] = {{"podGroupName", "group"}};
    client_.Seed(kube::Pods(), pod);
  }
  Process process(*this, true);
  for (int i = 0; i < 5; ++i) process.Pass();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "podgroups"), 3) << "once in each version";
}

TEST_F(GangLifecycleTest, APartlyReleasedJobKeepsTheHostOfEveryRankForThePodThatIsMadeAgain) {
  AddBatchJob("a", 2);
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    const bool last = call.verb == kube::Verb::kPatch && call.target.name == "a-1-2";
    return last ? absl::PermissionDeniedError("not now") : absl::OkStatus();
  });
  Process process(*this, true);
  process.Pass();
  const auto hosts = HostsOf("job-a");
  ASSERT_EQ(hosts.size(), 2u);
  client_.SetHook(nullptr);
  const json pod = *client_.Find(kube::Pods(), "team", "a-1-2");
  const auto patch = api::OpenGatePatch(pod, "released with kubectl yardmaster release");
  ASSERT_TRUE(patch.ok()) << patch.status();
  ASSERT_TRUE(client_.Patch({kube::Pods(), "team", "a-1-2", ""}, kube::JsonPatch(*patch), {}).ok());
  process.Pass();
  clock_.Advance(11'000);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), hosts) << "a gang has the hosts of all ranks or of none";
  DeletePod("a-1-2");
  const std::string again = AddJobPod("a", 1, "tp=8,dp=2");
  process.Pass();
  EXPECT_EQ(PinnedTo(*client_.Find(kube::Pods(), "team", again)), hosts[1]);
}

TEST_F(GangLifecycleTest, AJobWhosePodsAreReleasedWithoutAPlaceGivesBackTheHostsThatItHad) {
  AddBatchJob("a", 2);
  client_.FailNext(kube::Verb::kPatch, "pods", absl::PermissionDeniedError("not now"), 2);
  Process process(*this, true);
  process.Pass();
  ASSERT_EQ(HostsOf("job-a").size(), 2u);
  for (const json& pod : PodsOf("a")) {
    const auto patch = api::OpenGatePatch(pod, "released with kubectl yardmaster release");
    ASSERT_TRUE(patch.ok()) << patch.status();
    const kube::Target target{kube::Pods(), "team", pod["metadata"]["name"], ""};
    ASSERT_TRUE(client_.Patch(target, kube::JsonPatch(*patch), {}).ok());
  }
  process.Pass();
  clock_.Advance(11'000);
  process.Pass();
  EXPECT_TRUE(HostsOf("job-a").empty());
  EXPECT_NE(NoticesAbout("HostsGivenBack").find("released without a place"), std::string::npos);
  AddBatchJob("b", 6);
  process.Pass();
  EXPECT_EQ(HostsOf("job-b").size(), 6u);
}

}  // namespace
}  // namespace yardmaster::extender
