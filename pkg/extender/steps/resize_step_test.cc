// Placed gangs whose owner is scaled: they grow and shrink without moving a rank.
#include "pkg/extender/steps/resize_step.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"
#include "pkg/kube/testing/kill_at_write.h"

namespace yardmaster::extender {
namespace {

class ResizeStepTest : public BatchJobFixture {
 protected:
  // Job "a" with `workers`, placed and running.
  void Place(Process& process, int workers) {
    AddBatchJob("a", workers);
    process.Pass();
    RunReleasedPods();
    process.Pass();
    ASSERT_EQ(HostsOf("job-a").size(), static_cast<std::size_t>(workers));
  }
  void Scale(int workers) {
    ChangeJob(
        "a", [&](json& job) { job["spec"]["parallelism"] = job["spec"]["completions"] = workers; });
  }
  void AddPods(int first, int end) {
    for (int index = first; index < end; ++index) AddJobPod("a", index, "tp=8,dp=2");
  }
  void DeletePodsFrom(int first) {
    for (const json& pod : PodsOf("a")) {
      const std::string index =
          pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"];
      if (std::stoi(index) >= first) DeletePod(pod["metadata"]["name"]);
    }
  }
  static std::vector<std::string> First(std::vector<std::string> hosts, std::size_t count) {
    hosts.resize(std::min(count, hosts.size()));
    return hosts;
  }
  // Every released pod of the job is pinned to the host of its slot, and no host has two slots.
  void ExpectPinnedToSlots() {
    std::vector<std::string> hosts = HostsOf("job-a");
    for (const json& pod : PodsOf("a")) {
      if (Gated(pod)) continue;
      const std::string index =
          pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"];
      ASSERT_LT(std::stoul(index), hosts.size());
      EXPECT_EQ(PinnedTo(pod), hosts[std::stoul(index)]);
    }
    std::sort(hosts.begin(), hosts.end());
    EXPECT_EQ(std::unique(hosts.begin(), hosts.end()), hosts.end());
  }
  int CountGated() {
    const std::vector<json> pods = PodsOf("a");
    return static_cast<int>(std::count_if(pods.begin(), pods.end(), Gated));
  }
};

TEST_F(ResizeStepTest, AScaledJobGrowsBesideItsRanksInOnePlan) {
  Process process(*this, true);
  Place(process, 2);
  const auto before = HostsOf("job-a");
  Scale(3);
  AddPods(2, 3);
  process.Pass();
  const auto after = HostsOf("job-a");
  ASSERT_EQ(after.size(), 3u);
  EXPECT_EQ(First(after, 2), before) << "no rank moves";
  EXPECT_EQ(after[2].substr(0, 2), before[0].substr(0, 2)) << "in the segment of the others";
  EXPECT_EQ(Gang("job-a")["spec"]["parallelism"]["data"], 3);
  EXPECT_EQ(CountGated(), 0);
  EXPECT_EQ(CountNotices("Resized"), 1);
  EXPECT_EQ(CountNotices("NotInGang"), 0);
  ExpectPinnedToSlots();
}

TEST_F(ResizeStepTest, NewRanksComeAllOrNone) {
  Process process(*this, true);
  Place(process, 2);
  Scale(4);
  AddPods(2, 3);
  process.Pass();
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 2u) << "a pod is still missing";
  EXPECT_EQ(CountGated(), 1);
  EXPECT_EQ(CountNotices("NotInGang"), 0) << "no labels were copied";
  AddPods(3, 4);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 4u);
  EXPECT_EQ(CountGated(), 0);
}

TEST_F(ResizeStepTest, AGangWithoutRoomToGrowStaysAndGrowsWhenOthersLeave) {
  Process process(*this, true);
  Place(process, 2);
  AddBatchJob("b", 4);
  process.Pass();
  RunReleasedPods();
  ASSERT_EQ(HostsOf("job-b").size(), 4u);
  const auto before = HostsOf("job-a");
  Scale(3);
  AddPods(2, 3);
  process.Pass();
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), before);
  EXPECT_FALSE(IsTrue("job-a", "Resized"));
  EXPECT_EQ(CountNotices("NotResized"), 1) << "once";
  EXPECT_NE(NoticesAbout("NotResized").find("stays at 2 workers of 3"), std::string::npos)
      << NoticesAbout("NotResized");
  SetPhases("b", "Succeeded");
  process.Pass();
  EXPECT_EQ(First(HostsOf("job-a"), 2), before);
  EXPECT_EQ(HostsOf("job-a").size(), 3u);
  EXPECT_TRUE(IsTrue("job-a", "Resized"));
}

TEST_F(ResizeStepTest, AGangWaitingForItsFirstPlaceGoesBeforeOneThatGrows) {
  Process process(*this, true);
  Place(process, 2);
  Scale(4);
  AddPods(2, 4);
  AddBatchJob("b", 4);
  process.Pass();
  EXPECT_EQ(HostsOf("job-b").size(), 4u);
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
}

TEST_F(ResizeStepTest, AShrunkJobGivesBackTheHostsOfItsLastRanks) {
  Process process(*this, true);
  Place(process, 4);
  const auto before = HostsOf("job-a");
  AddBatchJob("b", 4);
  process.Pass();
  ASSERT_TRUE(HostsOf("job-b").empty());
  Scale(2);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), before) << "its pods are still there";
  DeletePodsFrom(2);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), First(before, 2));
  process.Pass();
  EXPECT_EQ(HostsOf("job-b").size(), 4u);
  ExpectPinnedToSlots();
}

TEST_F(ResizeStepTest, APodThatIsMadeAgainIsNoShrinking) {
  Process process(*this, true);
  Place(process, 3);
  const auto before = HostsOf("job-a");
  DeletePodsFrom(2);
  process.Pass();
  clock_.Advance(60'000);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), before);
  AddPods(2, 3);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), before);
  EXPECT_EQ(CountGated(), 0);
}

TEST_F(ResizeStepTest, AJobThatIsScaledBackBeforeThereWasRoomKeepsWhatItHas) {
  Process process(*this, true);
  Place(process, 2);
  AddBatchJob("b", 4);
  process.Pass();
  Scale(3);
  AddPods(2, 3);
  process.Pass();
  ASSERT_EQ(Gang("job-a")["spec"]["workers"], 3);
  const auto before = HostsOf("job-a");
  Scale(2);
  DeletePodsFrom(2);
  process.Pass();
  EXPECT_EQ(Gang("job-a")["spec"]["workers"], 2);
  EXPECT_EQ(HostsOf("job-a"), before);
}

TEST_F(ResizeStepTest, AJobScaledWhileItsGangWaitsIsPlacedWithTheSizeThatItHasNow) {
  AddBatchJob("b", 4);
  Process process(*this, true);
  process.Pass();
  AddBatchJob("a", 2);
  process.Pass();
  ASSERT_EQ(Gang("job-a")["spec"]["workers"], 2);
  Scale(3);
  AddPods(2, 3);
  process.Pass();
  ASSERT_EQ(Gang("job-a")["spec"]["workers"], 3);
  SuspendJob("b", true);
  DeletePodsOf("b");
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 3u) << "its template says 2";
}

// There is no telling a job that was scaled from one whose annotation is wrong.
TEST_F(ResizeStepTest, SizesThatNeverMultipliedToTheGpusOfTheJobAreRefusedWithTheArithmetic) {
  AddBatchJob("a", 2);
  Scale(3);
  AddPods(2, 3);
  Process process(*this, true);
  const PassReport report = process.Pass();
  EXPECT_TRUE(HostsOf("job-a").empty());
  EXPECT_THAT(report.problems, testing::Contains(testing::HasSubstr(
                                   "tp*cp*dp*pp = 8*1*2*1 = 16 GPUs, and 3 pods * 8 GPUs = 24")));
}

TEST_F(ResizeStepTest, AJobScaledDownWhileItsGangWaitsIsPlacedWithTheSizeThatItHasNow) {
  AddBatchJob("b", 4);
  Process process(*this, true);
  process.Pass();
  AddBatchJob("a", 3);
  process.Pass();
  ASSERT_TRUE(HostsOf("job-a").empty());
  ASSERT_EQ(Gang("job-a")["spec"]["workers"], 3);
  Scale(2);
  DeletePodsFrom(2);
  process.Pass();
  clock_.Advance(3'000);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
}

TEST_F(ResizeStepTest, AScaledJobThatLostItsPlaceIsPlacedAgainWithTheSizeThatItHasNow) {
  Process process(*this, true);
  Place(process, 2);
  Scale(3);
  AddPods(2, 3);
  process.Pass();
  ASSERT_EQ(HostsOf("job-a").size(), 3u);
  SuspendJob("a", true);
  DeletePodsOf("a");
  process.Pass();
  ASSERT_TRUE(HostsOf("job-a").empty());
  SuspendJob("a", false);
  AddPods(0, 3);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 3u) << "its template still says 2";
}

TEST_F(ResizeStepTest, ASizeThatCannotBeSplitIsRefusedWithTheReason) {
  Process process(*this, true);
  AddBatchJob("a", 2);
  for (const json& pod : PodsOf("a")) {
    json changed = pod;
    changed["metadata"]["annotations"][api::kParallelismAnnotation] = "tp=8,pp=2,dp=1";
    client_.Seed(kube::Pods(), changed);
  }
  process.Pass();
  RunReleasedPods();
  ASSERT_EQ(HostsOf("job-a").size(), 2u);
  Scale(3);
  AddPods(2, 3);
  process.Pass();
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
  EXPECT_EQ(CountNotices("NotResized"), 1);
  EXPECT_NE(NoticesAbout("NotResized").find("pipeline 2"), std::string::npos);
}

TEST_F(ResizeStepTest, AGangThatWaitsToGrowCountsAsRunning) {
  planner_options_.gates.ready_timeout_ms = 60'000;
  Process process(*this, true);
  Place(process, 2);
  AddBatchJob("b", 4);
  process.Pass();
  RunReleasedPods();
  Scale(3);
  AddPods(2, 3);
  process.Pass();
  clock_.Advance(120'000);
  process.Pass();
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
  EXPECT_EQ(PodsOf("a").size(), 3u) << "none was evicted";
}

TEST_F(ResizeStepTest, ATrainingJobOfAnotherSizeGrowsAndShrinks) {
  AddJob("t", 2);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  const auto resize = [&](int workers) {
    json job = *client_.Find(kube::TrainingJobs(), "team", "t");
    job["spec"]["workers"] = job["spec"]["parallelism"]["data"] = workers;
    client_.Seed(kube::TrainingJobs(), job);
  };
  resize(3);
  MakeMissingPods();
  process.Pass();
  EXPECT_EQ(Slots("t").size(), 3u);
  RunReleasedPods();
  resize(1);
  DeletePod("t-1");
  DeletePod("t-2");
  process.Pass();
  EXPECT_EQ(Slots("t").size(), 1u);
  CheckPromises();
}

TEST_F(ResizeStepTest, KilledAtAnyWriteTheNextProcessFinishesAndNoPartOfTheGrowthIsPromised) {
  for (int killed_at = 1;; ++killed_at) {
    SCOPED_TRACE(StrCat("killed at write ", killed_at));
    for (const kube::Resource& resource : {kube::Pods(), kube::Gangs(), BatchJobs()}) {
      for (const json& o : client_.All(resource)) {
        ASSERT_TRUE(client_.Delete({resource, "team", o["metadata"]["name"], ""}, {}).ok());
      }
    }
    {
      Process process(*this, true);
      Place(process, 2);
    }
    const auto before = HostsOf("job-a");
    Scale(4);
    AddPods(2, 4);
    int writes = 0;
    {
      kube::KillAtWrite kill(client_, killed_at - 1, absl::UnavailableError("killed"));
      PassOfANewProcess();
      writes = kill.writes();
    }
    const std::size_t ranks = HostsOf("job-a").size();
    EXPECT_TRUE(ranks == 2 || ranks == 4) << ranks;
    PassOfANewProcess();
    PassOfANewProcess();
    EXPECT_EQ(HostsOf("job-a").size(), 4u);
    EXPECT_EQ(First(HostsOf("job-a"), 2), before);
    EXPECT_EQ(CountGated(), 0);
    ExpectPinnedToSlots();
    if (writes < killed_at) break;  // it was never killed
  }
}

TEST_F(ResizeStepTest, AShrunkJobGivesHostsBackAlsoWhenOneOfThemIsLost) {
  Process process(*this, true);
  Place(process, 4);
  const auto before = HostsOf("job-a");
  AddNode(before[3][1] - '0', before[3][3] - '0', /*ready=*/false);
  Scale(2);
  DeletePodsFrom(2);
  process.Pass();
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), First(before, 2));
  EXPECT_FALSE(IsTrue("job-a", "Degraded"));
}

}  // namespace
}  // namespace yardmaster::extender
