#include "pkg/extender/steps/stale_release_step.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class StaleReleaseStepTest : public BatchJobFixture {
 protected:
  // From now on release patches are on their way for as long as the test likes.
  void DelayReleases() {
    client_.SetHook([this](const kube::Call& call) -> absl::Status {
      const bool release = call.verb == kube::Verb::kPatch && call.target.resource.plural == "pods";
      if (!release) return absl::OkStatus();
      late_.push_back(call);
      return absl::DeadlineExceededError("no answer in time");
    });
  }
  void DeliverReleases() {
    client_.SetHook(nullptr);
    for (const kube::Call& call : late_) {
      client_.Patch(call.target, kube::JsonPatch(call.body), {}).IgnoreError();
    }
    late_.clear();
  }
  bool Exists(const std::string& pod) {
    return client_.Find(kube::Pods(), "team", pod).has_value();
  }
  std::string PinOf(const std::string& pod) {
    return PinnedTo(*client_.Find(kube::Pods(), "team", pod));
  }
  void Bind(const std::string& name) {
    json pod = *client_.Find(kube::Pods(), "team", name);
    pod["spec"]["nodeName"] = PinnedTo(pod);
    pod["status"]["phase"] = "Running";
    client_.Seed(kube::Pods(), pod);
  }
  // The six pods of job "a" run on the hosts of their slots.
  void RunJobOfSix(Process& process) {
    AddBatchJob("a", 6);
    process.Pass();
    RunReleasedPods();
    process.Pass();
  }
  // The Gang's status says of every rank but the last that it belongs where the next one runs.
  void ShiftSlots(const std::string& name) {
    json gang = Gang(name);
    json& slots = gang["status"]["assignments"];
    for (std::size_t rank = 0; rank + 1 < slots.size(); ++rank) {
      std::swap(slots[rank]["host"], slots[rank + 1]["host"]);
    }
    client_.Seed(kube::Gangs(), gang);
  }
  // A disruption budget forbids the eviction of pods whose name begins so; the tries are counted.
  void ForbidEvictions(const std::string& names) {
    client_.SetHook([this, names](const kube::Call& call) -> absl::Status {
      if (call.target.subresource != "eviction") return absl::OkStatus();
      if (call.target.name.rfind(names, 0) != 0) return absl::OkStatus();
      tried_.push_back(call.target.name);
      return absl::ResourceExhaustedError("it would violate the pod's disruption budget");
    });
  }
  // Gang "a" has been given hosts, none of its pods was released, and it has given them back to a
  // gang "b" of the whole cluster. Its release patches are still on their way.
  void TakeHostsFromUnreleasedGang(Process& process, int workers) {
    AddBatchJob("a", workers);
    DelayReleases();
    process.Pass();
    ASSERT_EQ(HostsOf("job-a").size(), static_cast<std::size_t>(workers));
    AddBatchJob("b", 6);
    process.Pass();
    clock_.Advance(60'000);
    process.Pass();
    ASSERT_TRUE(HostsOf("job-a").empty());
    ASSERT_EQ(HostsOf("job-b").size(), 6u);
  }

  std::vector<kube::Call> late_;
  std::vector<std::string> tried_;  // evictions that were forbidden
};

TEST_F(StaleReleaseStepTest, APodThatIsReleasedForTheHostOfBeforeIsReplacedAlsoIfNoOtherHostFits) {
  AddBatchJob("a", 6);
  Process process(*this, true);
  DelayReleases();
  process.Pass();
  const std::string before = HostsOf("job-a")[5];
  AddNode(before[1] - '0', before[3] - '0', /*ready=*/false);
  process.Pass();
  const std::string after = HostsOf("job-a")[5];
  ASSERT_NE(after, before);
  late_.resize(6);
  DeliverReleases();
  ASSERT_EQ(PinOf("a-5-6"), before);
  EXPECT_EQ(process.Pass().recalled_pods, 1);
  EXPECT_FALSE(Exists("a-5-6"));
  clock_.Advance(10'000);  // past the back-off of the writes that failed
  EXPECT_TRUE(Exists("a-0-1")) << "its slot is where it is pinned to";
  EXPECT_NE(NoticesAbout("ReleasedTooLate").find("rank 5 belongs on " + after), std::string::npos);
  const std::string again = AddJobPod("a", 5, "tp=8,dp=6");
  EXPECT_EQ(process.Pass().recalled_pods, 0);
  EXPECT_EQ(PinOf(again), after);
  EXPECT_FALSE(IsTrue("job-a", "HostRefused")) << "nothing was wrong with the new host";
}

TEST_F(StaleReleaseStepTest, APodThatRunsAlthoughItsGangHasNoPlaceIsReplacedAndTheGangIsPlaced) {
  planner_options_.gates.ready_timeout_ms = 30'000;
  Process process(*this, true);
  TakeHostsFromUnreleasedGang(process, 2);
  late_.resize(1);
  DeliverReleases();
  Bind("a-0-1");
  EXPECT_EQ(process.Pass().recalled_pods, 1);
  EXPECT_FALSE(Exists("a-0-1"));
  AddJobPod("a", 0, "tp=8,dp=2");
  process.Pass();
  EXPECT_TRUE(HostsOf("job-a").empty()) << "the hosts are the other gang's";
  DeletePodsOf("b");
  EndJob("b", "Complete");
  clock_.Advance(20'000);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
}

TEST_F(StaleReleaseStepTest, AGangThatRunsInFullOnFreeHostsKeepsThem) {
  planner_options_.gates.ready_timeout_ms = 30'000;
  Process process(*this, true);
  TakeHostsFromUnreleasedGang(process, 2);
  DeletePodsOf("b");
  EndJob("b", "Complete");
  late_.resize(2);
  DeliverReleases();
  const std::vector<std::string> pins = {PinOf("a-0-1"), PinOf("a-1-2")};
  Bind("a-0-1");
  Bind("a-1-2");
  clock_.Advance(20'000);
  process.Pass();
  process.Pass();
  EXPECT_TRUE(Exists("a-0-1"));
  EXPECT_EQ(HostsOf("job-a"), pins);
}

TEST_F(StaleReleaseStepTest, AStatusEditedByMistakeDoesNotStopEveryPod) {
  planner_options_.stale_releases = {2, 600'000};
  Process process(*this, true);
  RunJobOfSix(process);
  ShiftSlots("job-a");
  EXPECT_EQ(process.Pass().recalled_pods, 2);
  const PassReport next = process.Pass();
  EXPECT_EQ(next.recalled_pods, 0);
  EXPECT_NE(Join(next.problems, "\n").find("left alone for now"), std::string::npos);
  EXPECT_EQ(PodsOf("a").size(), 4u);
  clock_.Advance(600'000);
  EXPECT_EQ(process.Pass().recalled_pods, 2);
}

TEST_F(StaleReleaseStepTest, PodsThatABudgetKeepsAreTriedEverLessOftenAndEachInTurn) {
  Process process(*this, true);
  RunJobOfSix(process);
  ShiftSlots("job-a");
  ForbidEvictions("a-");
  process.Pass();
  EXPECT_EQ(tried_.size(), 3u) << "not every pod is tried";
  process.Pass();
  EXPECT_EQ(std::set<std::string>(tried_.begin(), tried_.end()).size(), 6u) << "the others follow";
  tried_.clear();
  for (int second = 0; second < 60; ++second) {
    process.Pass();
    clock_.Advance(1'000);
  }
  EXPECT_LE(tried_.size(), 3u * 12) << "not in every pass";
  EXPECT_GE(tried_.size(), 3u * 8);
  client_.SetHook({});
  clock_.Advance(10'000);
  EXPECT_EQ(process.Pass().recalled_pods, 6);
}

TEST_F(StaleReleaseStepTest, APodThatABudgetKeepsDoesNotDelayTheReleaseOfOthersOfItsGang) {
  Process process(*this, true);
  RunJobOfSix(process);
  DeletePod("a-5-6");
  json gang = Gang("job-a");
  std::swap(gang["status"]["assignments"][0]["host"], gang["status"]["assignments"][1]["host"]);
  client_.Seed(kube::Gangs(), gang);
  ForbidEvictions("a-");
  for (int i = 0; i < 5; ++i) {
    process.Pass();
    clock_.Advance(1'000);
  }
  const std::size_t before = tried_.size();
  const std::string again = AddJobPod("a", 5, "tp=8,dp=6");
  EXPECT_EQ(process.Pass().released_pods, 1);
  EXPECT_EQ(tried_.size(), before) << "their evictions wait";
  EXPECT_EQ(PinOf(again), HostsOf("job-a")[5]);
}

TEST_F(StaleReleaseStepTest, APodThatNothingMakesAgainIsNotEvicted) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  json pod = *client_.Find(kube::Pods(), "team", "a-1-2");
  pod["metadata"]["ownerReferences"][0]["controller"] = false;
  pod["spec"]["nodeName"] = "s1h0";
  client_.Seed(kube::Pods(), pod);
  process.Pass();
  EXPECT_TRUE(Exists("a-1-2"));
}

TEST_F(StaleReleaseStepTest, AffinityOfItsOwnDoesNotMakeAReleaseStale) {
  AddBatchJob("a", 2);
  json pod = *client_.Find(kube::Pods(), "team", "a-1-2");
  const auto on = [](const char* host) -> json {
    return {{"matchFields",
             json::array({{{"key", "metadata.name"}, {"operator", "In"}, {"values", {host}}}})}};
  };
  pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
      {"nodeSelectorTerms", json::array({on("s0h1"), on("s0h2")})}};
  client_.Seed(kube::Pods(), pod);
  Process process(*this, true);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(process.Pass().recalled_pods, 0);
  EXPECT_TRUE(Exists("a-1-2"));
}

}  // namespace
}  // namespace yardmaster::extender
