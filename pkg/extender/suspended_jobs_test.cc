// Gangs of jobs of other controllers that wait suspended for their place.
#include "pkg/api/suspended_wait.h"
#include "pkg/extender/facts/placed_first.h"
#include "pkg/extender/testing/batch_job_fixture.h"
#include "pkg/gather/pods_to_come.h"
#include "pkg/kube/testing/kill_at_write.h"

namespace yardmaster::extender {
namespace {

class SuspendedJobsTest : public BatchJobFixture {
 protected:
  // A suspended Job without pods, and the Gang that the operator makes for it.
  void AddRequest(const std::string& name, int size) {
    client_.Seed(BatchJobs(),
                 {{"apiVersion", "batch/v1"},
                  {"kind", "Job"},
                  {"metadata",
                   {{"name", name},
                    {"namespace", "team"},
                    {"uid", Uid(name)},
                    {"labels", {{api::kWaitLabel, api::kWaitSuspended}}}}},
                  {"spec", {{"suspend", true}, {"parallelism", size}, {"completions", size}}},
                  {"status", json::object()}});
    AddGang(name, size, {"batch/v1", "Job", name, Uid(name), false});
  }
  void AddGang(const std::string& name, int size, const api::OwnerReference& owner) {
    api::Gang gang;
    gang.metadata.name = api::GangName("Job", name);
    gang.metadata.namespace_name = "team";
    gang.metadata.uid = "gang-" + name;
    gang.owner = owner;
    gang.metadata.owners = {gang.owner};
    gang.job.workers = size;
    gang.job.gpus_per_worker = 8;
    gang.job.parallelism.tensor = 8;
    gang.job.parallelism.data = size;
    gang.rank_bases = {{"", 0}};
    workload::SetAmount(gang.requests, api::kGpuResource, 8);
    gang.pods = api::GangPods::kFollow;
    client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  }
  void SetPods(const std::string& gang_name, const char* pods) {
    json gang = Gang(gang_name);
    gang["spec"]["pods"] = pods;
    client_.Seed(kube::Gangs(), gang);
  }
  void MakePods(const std::string& job, int from, int to) {
    for (int index = from; index < to; ++index) AddJobPod(job, index, "tp=8");
  }
  int GatedPods(const std::string& job) {
    int gated = 0;
    for (const json& pod : PodsOf(job)) gated += Gated(pod) ? 1 : 0;
    return gated;
  }
};

TEST_F(SuspendedJobsTest, AGangIsPlacedWhileItsJobIsSuspended) {
  AddRequest("a", 2);
  Process process(*this, true);
  process.Pass();
  const auto hosts = HostsOf("job-a");
  EXPECT_EQ(hosts.size(), 2u);
  clock_.Advance(60'000);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), hosts) << "its job waits to be resumed";
}

TEST_F(SuspendedJobsTest, GangsOfOtherKindsAreNotPlacedWithoutPods) {
  AddGang("a", 2, {"kubeflow.org/v1", "PyTorchJob", "a", "uid-a", false});
  AddGang("b", 2, {"batch.volcano.sh/v1alpha1", "Job", "b", "uid-b", false});
  PassOfANewProcess();
  EXPECT_TRUE(HostsOf("job-a").empty());
  EXPECT_TRUE(HostsOf("job-b").empty());
}

TEST_F(SuspendedJobsTest, ASuspendedJobWithoutTheLabelHoldsNoHosts) {
  AddRequest("a", 2);
  Process process(*this, true);
  process.Pass();
  ChangeJob("a", [](json& job) { job["metadata"].erase("labels"); });
  clock_.Advance(10'000);
  process.Pass();
  EXPECT_EQ(CountNotices("HostsGivenBack"), 1) << "the operator may not be there to say it";
  SetPods("job-a", "Refused");
  process.Pass();
  process.Pass();
  EXPECT_TRUE(HostsOf("job-a").empty());
}

TEST_F(SuspendedJobsTest, HostsOfAJobThatIsGoneAreFree) {
  AddRequest("a", 2);
  Process process(*this, true);
  process.Pass();
  ASSERT_TRUE(client_.Delete({BatchJobs(), "team", "a", ""}, {}).ok());
  clock_.Advance(10'000);
  process.Pass();
  EXPECT_TRUE(IsTrue("job-a", "Finished")) << Gang("job-a");
}

TEST_F(SuspendedJobsTest, ItsPodsAreReleasedAllOrNone) {
  AddRequest("a", 2);
  Process process(*this, true);
  process.Pass();
  const auto hosts = HostsOf("job-a");
  SuspendJob("a", false);
  MakePods("a", 0, 1);
  process.Pass();
  process.Pass();
  EXPECT_EQ(GatedPods("a"), 1);
  EXPECT_EQ(HostsOf("job-a"), hosts);
  MakePods("a", 1, 2);
  process.Pass();
  process.Pass();
  EXPECT_EQ(GatedPods("a"), 0);
  std::vector<std::string> pinned;
  for (const json& pod : PodsOf("a")) pinned.push_back(PinnedTo(pod));
  EXPECT_EQ(pinned, hosts);
  EXPECT_TRUE(IsTrue("job-a", api::kReleasedCondition));
}

TEST_F(SuspendedJobsTest, HostsAreFreeAgainWhereNoPodComes) {
  AddRequest("a", 2);
  Process process(*this, true);
  process.Pass();
  SuspendJob("a", false);
  clock_.Advance(gather::kPodsComeMs + gather::kSuspendedAgainMs - 1'000);
  process.Pass();
  EXPECT_EQ(CountNotices("HostsGivenBack"), 0);
  clock_.Advance(2'000);
  process.Pass();
  EXPECT_EQ(CountNotices("HostsGivenBack"), 1);
}

TEST_F(SuspendedJobsTest, AJobThatDoesNotUseItsHostsQueuesBehindOthers) {
  AddRequest("a", 6);
  Process process(*this, true);
  process.Pass();
  ASSERT_EQ(HostsOf("job-a").size(), 6u);
  AddRequest("b", 6);
  process.Pass();
  EXPECT_TRUE(HostsOf("job-b").empty());
  clock_.Advance(1'000);
  SetPods("job-a", "Refused");
  process.Pass();
  SetPods("job-a", "Follow");
  process.Pass();
  process.Pass();
  EXPECT_EQ(HostsOf("job-b").size(), 6u);
  EXPECT_TRUE(HostsOf("job-a").empty());
}

TEST_F(SuspendedJobsTest, PodsThatHaveEndedBeforeDoNotKeepItFromAPlace) {
  AddRequest("a", 2);
  MakePods("a", 0, 1);
  SetPhases("a", "Failed");
  PassOfANewProcess();
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
}

TEST_F(SuspendedJobsTest, PodsOfItsFormerPlaceEndFirst) {
  AddRequest("a", 2);
  MakePods("a", 0, 1);
  PassOfANewProcess();
  EXPECT_TRUE(HostsOf("job-a").empty());
}

TEST_F(SuspendedJobsTest, KilledAtAnyWriteTheNextProcessFinishes) {
  for (int killed_at = 1;; ++killed_at) {
    SCOPED_TRACE(StrCat("killed at write ", killed_at));
    DeleteAllJobs();
    AddRequest("a", 2);
    AddRequest("b", 3);
    int writes = 0;
    {
      kube::KillAtWrite kill(client_, killed_at - 1, absl::UnavailableError("killed"));
      PassOfANewProcess();
      writes = kill.writes();
    }
    PassOfANewProcess();
    EXPECT_EQ(HostsOf("job-a").size(), 2u);
    EXPECT_EQ(HostsOf("job-b").size(), 3u);
    for (const auto& [job, size] : {std::pair("a", 2), std::pair("b", 3)}) {
      SuspendJob(job, false);
      MakePods(job, 0, size);
    }
    {
      kube::KillAtWrite kill(client_, killed_at - 1, absl::UnavailableError("killed"));
      PassOfANewProcess();
      writes = std::max(writes, kill.writes());
    }
    PassOfANewProcess();
    PassOfANewProcess();
    EXPECT_TRUE(IsTrue("job-a", api::kReleasedCondition));
    EXPECT_TRUE(IsTrue("job-b", api::kReleasedCondition));
    if (writes < killed_at) break;  // it was never killed
  }
}

}  // namespace
}  // namespace yardmaster::extender
