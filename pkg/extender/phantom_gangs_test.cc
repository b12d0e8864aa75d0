// Gangs that hold hosts and have no pods: what a tenant can make of pods that it deletes again.
#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class PhantomGangsTest : public BatchJobFixture {
 protected:
  // A pod with our labels, of a controller that a tenant wrote.
  void AddPodOf(const std::string& name, const char* api_version, const char* kind) {
    client_.Seed(kube::Pods(), GatedPod(name, {{api::kGpuResource, "8"}},
                                        {{api::kJobLabel, name}, {api::kRankLabel, "0"}},
                                        {{"apiVersion", api_version},
                                         {"kind", kind},
                                         {"name", "owner"},
                                         {"uid", "uid-owner"},
                                         {"controller", true}},
                                        "tp=8,dp=1"));
  }
  void SetManagedBy(const std::string& job) {
    ChangeJob(job, [](json& object) { object["spec"]["managedBy"] = "example.com/nobody"; });
  }
};

TEST_F(PhantomGangsTest, OwnersOfKindsThatSayNothingOfTheirEndMakeNoGangs) {
  AddPodOf("a", "v1", "ConfigMap");
  AddPodOf("b", "apps/v1", "ReplicaSet");
  AddPodOf("c", "kubeflow.org/v1", "Notebook");
  Process process(*this, true);
  const PassReport report = process.Pass();
  EXPECT_EQ(report.gangs_created, 0);
  EXPECT_TRUE(client_.All(kube::Gangs()).empty());
  EXPECT_EQ(CountNotices("NotInGang"), 3) << Join(report.problems, "\n");
  EXPECT_NE(NoticesAbout("NotInGang").find("its controller is ConfigMap owner of v1"),
            std::string::npos)
      << NoticesAbout("NotInGang");
  for (const json& pod : client_.All(kube::Pods())) EXPECT_TRUE(Gated(pod));
}

TEST_F(PhantomGangsTest, AJobThatNobodyManagesLosesTheHostsThatItOnlyHolds) {
  // One pod of quota: each job gets a place and loses its pod.
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    AddBatchJob(name, 1);
    SetManagedBy(name);
    Process process(*this, true);
    process.Pass();
    ASSERT_EQ(HostsOf(std::string("job-") + name).size(), 1u);
    DeletePodsOf(name);
    process.Pass();
  }
  AddBatchJob("z", 6);
  Process process(*this, true);
  process.Pass();
  EXPECT_TRUE(HostsOf("job-z").empty());
  clock_.Advance(14'000);
  process.Pass();
  EXPECT_TRUE(HostsOf("job-z").empty()) << "a job has some seconds to make its pods again";
  clock_.Advance(2'000);
  const PassReport report = process.Pass();
  EXPECT_EQ(report.given_back, 6);
  EXPECT_EQ(HostsOf("job-z").size(), 6u) << "in the same pass";
  EXPECT_NE(NoticesAbout("HostsGivenBack").find("no pod of the gang"), std::string::npos);
}

TEST_F(PhantomGangsTest, ATrainingJobThatNobodyManagesLosesThemToo) {
  AddJob("a", 6, "{}", {{"managedBy", "example.com/nobody"}});
  Process process(*this, true);
  process.Pass();
  ASSERT_TRUE(Placed("a"));
  for (int rank = 0; rank < 6; ++rank) DeletePod(StrCat("a-", rank));
  process.Pass();
  ASSERT_TRUE(Placed("a"));
  EXPECT_EQ(Condition("a", "PodsGone")["status"], "True");
  clock_.Advance(61'000);
  process.Pass();
  EXPECT_FALSE(Placed("a"));
  EXPECT_EQ(Condition("a", "PodsGone")["status"], "False");
}

TEST_F(PhantomGangsTest, AnOwnerThatCannotBeReadKeepsNoHostsEither) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  DeletePodsOf("a");
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    return call.verb == kube::Verb::kGet && call.target.name == "a"
               ? absl::PermissionDeniedError("forbidden")
               : absl::OkStatus();
  });
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
  clock_.Advance(61'000);
  process.Pass();
  EXPECT_TRUE(HostsOf("job-a").empty());
}

TEST_F(PhantomGangsTest, AChangeOfTheLeaderNeitherBeginsTheTimeAgainNorEndsIt) {
  AddBatchJob("a", 2);
  PassOfANewProcess();
  clock_.Advance(600'000);
  DeletePodsOf("a");
  PassOfANewProcess();
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(11'000);
    PassOfANewProcess();
    EXPECT_EQ(HostsOf("job-a").size(), 2u) << "after " << 11 * (i + 1) << " s";
  }
  clock_.Advance(6'000);
  PassOfANewProcess();
  EXPECT_TRUE(HostsOf("job-a").empty());
}

TEST_F(PhantomGangsTest, AJobThatRestartsKeepsItsHostsAndHasAWholeMinuteTheNextTime) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  const auto hosts = HostsOf("job-a");
  for (int restart = 0; restart < 3; ++restart) {
    clock_.Advance(300'000);
    DeletePodsOf("a");
    process.Pass();
    EXPECT_TRUE(IsTrue("job-a", "PodsGone"));
    clock_.Advance(50'000);
    for (int index = 0; index < 2; ++index) AddJobPod("a", index, "tp=8,dp=2");
    process.Pass();
    RunReleasedPods();
    process.Pass();
    EXPECT_FALSE(IsTrue("job-a", "PodsGone"));
    EXPECT_EQ(HostsOf("job-a"), hosts);
  }
}

TEST_F(PhantomGangsTest, PodsThatComeAndGoWithoutRunningDoNotKeepTheHosts) {
  AddBatchJob("a", 1);
  SetManagedBy("a");
  Process process(*this, true);
  process.Pass();
  for (int i = 0; i < 4; ++i) {
    DeletePodsOf("a");
    process.Pass();
    clock_.Advance(4'000);
    AddJobPod("a", 0, "tp=8,dp=1");
    process.Pass();
  }
  EXPECT_EQ(HostsOf("job-a").size(), 1u);
  DeletePodsOf("a");
  process.Pass();
  EXPECT_TRUE(HostsOf("job-a").empty());
}

TEST_F(PhantomGangsTest, AGangThatLostItsHostsSoIsPlacedAgainWhenItsPodsCome) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  DeletePodsOf("a");
  process.Pass();
  clock_.Advance(61'000);
  process.Pass();
  ASSERT_TRUE(HostsOf("job-a").empty());
  for (int index = 0; index < 2; ++index) AddJobPod("a", index, "tp=8,dp=2");
  EXPECT_EQ(process.Pass().released_pods, 2);
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
}

}  // namespace
}  // namespace yardmaster::extender
