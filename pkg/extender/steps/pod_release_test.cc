#include "pkg/extender/steps/pod_release.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class PodReleaseTest : public BatchJobFixture {
 protected:
  // Every release patch takes so long.
  void SlowReleases(std::int64_t ms) {
    client_.SetHook([this, ms](const kube::Call& call) {
      if (call.verb == kube::Verb::kPatch && call.target.resource.plural == "pods") {
        clock_.Advance(ms);
        released_.push_back(call.target.name);
      }
      return absl::OkStatus();
    });
  }
  // Hosts that pods of a job are pinned to, by rank, of those that are.
  std::vector<std::string> PinsOf(const std::string& job) {
    std::vector<std::string> pins;
    for (const json& pod : PodsOf(job)) {
      if (!PinnedTo(pod).empty()) pins.push_back(PinnedTo(pod));
    }
    return pins;
  }

  // Threads that send patches of these pods in a pass. A patch ends when so many have begun one;
  // with fewer threads, after `patience`.
  std::size_t SendersOf(const std::string& pods, std::size_t awaited,
                        std::chrono::milliseconds patience, Process& process) {
    std::mutex mutex;
    std::condition_variable begun;
    std::set<std::thread::id> senders;
    client_.SetHook([&](const kube::Call& call) {
      if (call.verb == kube::Verb::kPatch && call.target.name.rfind(pods, 0) == 0) {
        std::unique_lock lock(mutex);
        senders.insert(std::this_thread::get_id());
        begun.notify_all();
        begun.wait_for(lock, patience, [&] { return senders.size() >= awaited; });
      }
      return absl::OkStatus();
    });
    process.Pass();
    client_.SetHook({});
    return senders.size();
  }

  std::vector<std::string> released_;
};

TEST_F(PodReleaseTest, AGangThatLosesAHostDoesNotWaitForTheRestOfALongRelease) {
  planner_options_.release_slice_ms = 1'000;
  AddBatchJob("a", 6);
  Process process(*this, true);
  SlowReleases(300);
  const PassReport first = process.Pass();
  EXPECT_EQ(first.released_pods, 4) << "for a second";
  EXPECT_TRUE(first.run_again_now);
  const std::string lost = HostsOf("job-a")[5];
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/false);
  const PassReport second = process.Pass();
  EXPECT_EQ(second.replaced_ranks, 1);
  EXPECT_EQ(second.released_pods, 2);
  EXPECT_FALSE(second.run_again_now);
  EXPECT_EQ(PinsOf("a"), HostsOf("job-a"));
}

TEST_F(PodReleaseTest, AGangWhoseReleaseThrowsHoldsUpNoOther) {
  AddBatchJob("bad", 2);
  AddBatchJob("good", 2);
  Process process(*this, true);
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    const bool release = call.verb == kube::Verb::kPatch && call.target.resource.plural == "pods";
    return release ? absl::UnavailableError("down") : absl::OkStatus();
  });
  process.Pass();
  ASSERT_EQ(HostsOf("job-bad").size(), 2u);
  ASSERT_EQ(HostsOf("job-good").size(), 2u);
  client_.SetHook({});
  json gang = Gang("job-bad");
  gang["status"]["assignments"][1]["segment"] = "\xff";  // in no annotation
  client_.Seed(kube::Gangs(), gang);
  clock_.Advance(60'000);
  const PassReport report = process.Pass();
  EXPECT_EQ(report.isolated, 1) << Join(report.errors, "\n");
  EXPECT_EQ(PinsOf("good"), HostsOf("job-good"));
  EXPECT_TRUE(PinsOf("bad").empty()) << "all or none";
}

TEST_F(PodReleaseTest, AReleaseIsOneCallUnlessThePodIsNotAsItWasKnown) {
  AddBatchJob("a", 3);
  Process process(*this, true);
  int reads = 0;
  int patches = 0;
  client_.SetHook([&](const kube::Call& call) -> absl::Status {
    if (call.target.resource.plural != "pods") return absl::OkStatus();
    reads += call.verb == kube::Verb::kGet ? 1 : 0;
    patches += call.verb == kube::Verb::kPatch ? 1 : 0;
    if (patches != 1 || call.verb != kube::Verb::kPatch || reads != 0) return absl::OkStatus();
    return absl::FailedPreconditionError("a test of the patch failed");
  });
  EXPECT_EQ(process.Pass().released_pods, 3);
  EXPECT_EQ(reads, 1) << "of the pod whose patch was refused";
  EXPECT_EQ(patches, 4);
}

TEST_F(PodReleaseTest, GangsAreReleasedInTheOrderInWhichTheyWereCommitted) {
  planner_options_.release_slice_ms = 0;
  AddBatchJob("b", 2);
  Process process(*this, true);
  process.Pass();
  ASSERT_EQ(HostsOf("job-b").size(), 2u);
  EXPECT_TRUE(PinsOf("b").empty());
  clock_.Advance(1'000);
  AddBatchJob("a", 2);
  process.Pass();
  planner_options_.release_slice_ms = 1'000;
  SlowReleases(1);
  Process(*this, true).Pass();
  EXPECT_EQ(released_, (std::vector<std::string>{"b-0-1", "b-1-2", "a-0-3", "a-1-4"}));
}

TEST_F(PodReleaseTest, WhileAGangLacksARankFewerPatchesAreOnTheirWayAtOnce) {
  planner_options_.release.threads = 8;
  AddBatchJob("b", 2);
  Process process(*this, true);
  process.Pass();
  process.Pass();
  ASSERT_TRUE(IsTrue("job-b", api::kReleasedCondition));
  DeletePod(PodsOf("b")[1]["metadata"]["name"]);
  AddBatchJob("a", 4);
  EXPECT_LE(SendersOf("a-", 3, std::chrono::milliseconds(5), process), 2u);
  EXPECT_EQ(PinsOf("a").size(), 4u);
}

TEST_F(PodReleaseTest, ARankOfAGangThatRanGoesBeforeAGangThatWasCommittedEarlier) {
  AddBatchJob("a", 3);
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    const bool of_a = call.verb == kube::Verb::kPatch && call.target.name.rfind("a-", 0) == 0;
    return of_a ? absl::UnavailableError("no answer") : absl::OkStatus();
  });
  Process process(*this, true);
  process.Pass();
  clock_.Advance(1'000);
  AddBatchJob("b", 2);
  process.Pass();
  process.Pass();
  ASSERT_TRUE(IsTrue("job-b", api::kReleasedCondition));
  ASSERT_FALSE(IsTrue("job-a", api::kReleasedCondition));

  DeletePod(PodsOf("b")[1]["metadata"]["name"]);
  const std::string again = AddJobPod("b", 1, "tp=8,dp=2");
  clock_.Advance(60'000);
  SlowReleases(1);
  process.Pass();
  ASSERT_EQ(released_.size(), 4u);
  EXPECT_EQ(released_[0], again);
  EXPECT_EQ(PinsOf("a").size(), 3u);
}

TEST_F(PodReleaseTest, AGangThatLacksARankForLongSlowsNoReleaseDown) {
  planner_options_.release.threads = 8;
  AddBatchJob("b", 2);
  Process process(*this, true);
  process.Pass();
  process.Pass();
  ASSERT_TRUE(IsTrue("job-b", api::kReleasedCondition));
  DeletePod(PodsOf("b")[1]["metadata"]["name"]);
  process.Pass();
  clock_.Advance(60'000);
  AddBatchJob("a", 4);
  EXPECT_GT(SendersOf("a-", 3, std::chrono::seconds(20), process), 2u);
  EXPECT_EQ(PinsOf("a").size(), 4u);
}

}  // namespace
}  // namespace yardmaster::extender
