#include "pkg/extender/steps/unschedulable_step.h"

#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/api/refusals.h"
#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class UnschedulableStepTest : public BatchJobFixture {
 protected:
  // As kube-scheduler would.
  void RefusePod(const std::string& name) {
    json pod = *client_.Find(kube::Pods(), "team", name);
    pod["status"]["conditions"] =
        json::array({{{"type", "PodScheduled"},
                      {"status", "False"},
                      {"reason", "Unschedulable"},
                      {"message", "0/8 nodes are available: 1 Insufficient cpu"}}});
    client_.Seed(kube::Pods(), pod);
  }
  void RunAllBut(const std::string& name) {
    for (json pod : client_.All(kube::Pods())) {
      if (Gated(pod) || pod["metadata"]["name"] == name || PinnedTo(pod).empty()) continue;
      pod["spec"]["nodeName"] = PinnedTo(pod);
      pod["status"]["phase"] = "Running";
      client_.Seed(kube::Pods(), pod);
    }
  }
  bool Exists(const std::string& pod) {
    return client_.Find(kube::Pods(), "team", pod).has_value();
  }
};

TEST_F(UnschedulableStepTest, ARankWhoseHostIsRefusedMovesInsideItsSegmentWithinSeconds) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  const auto before = HostsOf("job-a");
  RunAllBut("a-1-2");
  RefusePod("a-1-2");
  const PassReport first = process.Pass();
  EXPECT_TRUE(Exists("a-1-2")) << "it may still be bound";
  EXPECT_LE(first.wake_in_ms, 3'000);
  clock_.Advance(3'000);
  const PassReport second = process.Pass();
  EXPECT_EQ(second.refused_hosts, 1) << Join(second.errors, "\n");
  EXPECT_FALSE(Exists("a-1-2"));
  EXPECT_NE(NoticesAbout("HostRefused").find("1 Insufficient cpu"), std::string::npos);
  EXPECT_TRUE(IsTrue("job-a", "HostRefused"));
  // Its Job makes the pod again; another leader knows the refusal from the Gang.
  const std::string again = AddJobPod("a", 1, "tp=8,dp=2");
  PassOfANewProcess();
  const auto after = HostsOf("job-a");
  EXPECT_EQ(after[0], before[0]);
  EXPECT_NE(after[1], before[1]);
  EXPECT_EQ(after[1].substr(0, 2), before[1].substr(0, 2)) << "the same segment";
  EXPECT_EQ(PinnedTo(*client_.Find(kube::Pods(), "team", again)), after[1]);
  RunReleasedPods();
  PassOfANewProcess();
  EXPECT_FALSE(IsTrue("job-a", "HostRefused"));
}

TEST_F(UnschedulableStepTest, WithoutAnotherHostThePodStaysAndPeopleHearWhy) {
  for (int h = 1; h < kHostsPerSegment; ++h) AddNode(0, h, /*ready=*/false);
  for (int h = 0; h < kHostsPerSegment; ++h) AddNode(1, h, /*ready=*/false);
  AddBatchJob("a", 1);
  Process process(*this, true);
  process.Pass();
  RefusePod("a-0-1");
  process.Pass();
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(10'000);
    process.Pass();
  }
  EXPECT_TRUE(Exists("a-0-1"));
  EXPECT_NE(NoticesAbout("HostRefused").find("no other host fits"), std::string::npos);
  EXPECT_EQ(CountNotices("HostRefused"), 1) << "said once";
}

TEST_F(UnschedulableStepTest, APodThatAvoidsEveryOtherHostStays) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  std::string others;
  for (int s = 0; s < 2; ++s) {
    for (int h = 0; h < kHostsPerSegment; ++h) others += NodeName(s, h) + ",";
  }
  json pod = *client_.Find(kube::Pods(), "team", "a-1-2");
  pod["metadata"]["annotations"][api::kAvoidHostsAnnotation] = others;
  client_.Seed(kube::Pods(), pod);
  RunAllBut("a-1-2");
  RefusePod("a-1-2");
  process.Pass();
  clock_.Advance(3'000);
  process.Pass();
  EXPECT_TRUE(Exists("a-1-2"));
  EXPECT_NE(NoticesAbout("HostRefused").find("no other host fits"), std::string::npos);
}

TEST(RefusalsTest, ARefusalByAProcessWhoseClockWasHoursAheadIsNotInForce) {
  constexpr std::int64_t kHour = 3'600'000;
  api::GangStatus status;
  AddRefusal(status, 1, "h", "no CPU", 10 * kHour);
  EXPECT_FALSE(IsRefused(status, 1, "h", 2 * kHour));
  EXPECT_EQ(RefusalsOf(status, 1, 2 * kHour), 0);
  AddRefusal(status, 1, "h", "no CPU", 2 * kHour);
  EXPECT_TRUE(IsRefused(status, 1, "h", 2 * kHour));
  EXPECT_FALSE(IsRefused(status, 1, "h", 2 * kHour + 60'000)) << "it is the first one again";
}

TEST_F(UnschedulableStepTest, APodThatWasBoundMeanwhileIsNotEvicted) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  RunAllBut("a-1-2");
  RefusePod("a-1-2");
  process.Pass();
  clock_.Advance(3'000);
  client_.SetHook([this](const kube::Call& call) {
    if (call.target.subresource == "eviction") {
      json pod = *client_.Find(kube::Pods(), "team", "a-1-2");
      pod["spec"]["nodeName"] = PinnedTo(pod);
      client_.Seed(kube::Pods(), pod);
    }
    return absl::OkStatus();
  });
  process.Pass();
  EXPECT_TRUE(Exists("a-1-2"));
}

TEST_F(UnschedulableStepTest, APodThatNothingMakesAgainIsNotEvicted) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  json pod = *client_.Find(kube::Pods(), "team", "a-1-2");
  pod["metadata"]["ownerReferences"][0]["controller"] = false;
  client_.Seed(kube::Pods(), pod);
  RefusePod("a-1-2");
  process.Pass();
  clock_.Advance(60'000);
  process.Pass();
  EXPECT_TRUE(Exists("a-1-2"));
}

TEST_F(UnschedulableStepTest, WhileThePodBeforeItIsLeavingTheHostItWaits) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  json old = *client_.Find(kube::Pods(), "team", "a-1-2");
  old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  client_.Seed(kube::Pods(), old);
  const std::string again = AddJobPod("a", 1, "tp=8,dp=2");
  process.Pass();
  RefusePod(again);
  process.Pass();
  clock_.Advance(60'000);
  process.Pass();
  EXPECT_TRUE(Exists(again));
  DeletePod("a-1-2");
  process.Pass();
  clock_.Advance(3'000);
  process.Pass();
  EXPECT_FALSE(Exists(again));
}

TEST_F(UnschedulableStepTest, EveryFurtherRefusalWaitsTwiceAsLong) {
  AddBatchJob("a", 1);
  Process process(*this, true);
  process.Pass();
  std::string pod = "a-0-1";
  for (const std::int64_t wait_ms : {3'000, 6'000, 12'000}) {
    RefusePod(pod);
    process.Pass();
    clock_.Advance(wait_ms - 1);
    process.Pass();
    EXPECT_TRUE(Exists(pod)) << wait_ms;
    clock_.Advance(1);
    process.Pass();
    ASSERT_FALSE(Exists(pod)) << wait_ms;
    pod = AddJobPod("a", 0, "tp=8,dp=1");
    process.Pass();
  }
}

// Longer than any refusal lasts passes between two of them.
TEST_F(UnschedulableStepTest, EveryHostIsTriedOnceBeforeOneIsTriedAgain) {
  AddBatchJob("a", 1);
  Process process(*this, true);
  process.Pass();
  std::string pod = "a-0-1";
  std::set<std::string> tried;
  for (int h = 0; h < kHostsPerSegment; ++h) {
    EXPECT_TRUE(tried.insert(HostsOf("job-a")[0]).second) << HostsOf("job-a")[0];
    EXPECT_EQ(PinnedTo(*client_.Find(kube::Pods(), "team", pod)), HostsOf("job-a")[0]);
    RefusePod(pod);
    process.Pass();
    clock_.Advance(300'000);
    process.Pass();
    ASSERT_FALSE(Exists(pod));
    // The Job waits for long, too, and no process remembers.
    clock_.Advance(600'000);
    pod = AddJobPod("a", 0, "tp=8,dp=1");
    PassOfANewProcess();
  }
}

TEST_F(UnschedulableStepTest, AGangThatGaveItsPlaceBackIsPlacedOnAHostThatWasNotRefused) {
  AddBatchJob("a", 1);
  Process process(*this, true);
  process.Pass();
  const std::string refused = HostsOf("job-a")[0];
  RefusePod("a-0-1");
  process.Pass();
  clock_.Advance(3'000);
  process.Pass();
  ASSERT_FALSE(Exists("a-0-1"));
  for (int minute = 0; minute < 5; ++minute) {
    clock_.Advance(60'000);
    process.Pass();
  }
  ASSERT_TRUE(HostsOf("job-a").empty()) << "without pods it holds no host";
  AddJobPod("a", 0, "tp=8,dp=1");
  process.Pass();
  ASSERT_EQ(HostsOf("job-a").size(), 1u);
  EXPECT_NE(HostsOf("job-a")[0], refused);
}

TEST_F(UnschedulableStepTest, AHostWhoseRefusalHasEndedIsTriedAgainWhenNoOtherFits) {
  for (int s = 0; s < 2; ++s) {
    for (int h = 0; h < kHostsPerSegment; ++h) AddNode(s, h, /*ready=*/s == 0 && h < 2);
  }
  AddBatchJob("a", 1);
  Process process(*this, true);
  process.Pass();
  std::string pod = "a-0-1";
  std::vector<std::string> hosts;
  for (int i = 0; i < 3; ++i) {
    hosts.push_back(HostsOf("job-a")[0]);
    RefusePod(pod);
    process.Pass();
    clock_.Advance(300'000);
    process.Pass();
    ASSERT_FALSE(Exists(pod)) << i;
    pod = AddJobPod("a", 0, "tp=8,dp=1");
    process.Pass();
  }
  EXPECT_NE(hosts[1], hosts[0]);
  EXPECT_EQ(hosts[2], hosts[0]);
}

// A Job counts a pod that is deleted as failed while it has this finalizer.
TEST_F(UnschedulableStepTest, AJobDoesNotCountTheReplacedPodAsFailed) {
  AddBatchJob("a", 2);
  for (json pod : PodsOf("a")) {
    pod["metadata"]["finalizers"] = {"example.com/audit", "batch.kubernetes.io/job-tracking"};
    client_.Seed(kube::Pods(), pod);
  }
  Process process(*this, true);
  process.Pass();
  RunAllBut("a-1-2");
  RefusePod("a-1-2");
  process.Pass();
  clock_.Advance(3'000);
  EXPECT_EQ(process.Pass().refused_hosts, 1);
  const json leaving = *client_.Find(kube::Pods(), "team", "a-1-2");
  EXPECT_TRUE(leaving["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(leaving["metadata"]["finalizers"], json::array({"example.com/audit"}));
  const json stays = *client_.Find(kube::Pods(), "team", "a-0-1");
  EXPECT_EQ(stays["metadata"]["finalizers"].size(), 2u);
}

TEST_F(UnschedulableStepTest, AReplacedPodIsEvictedThoughItsFinalizerCannotBeRemoved) {
  AddBatchJob("a", 1);
  json pod = *client_.Find(kube::Pods(), "team", "a-0-1");
  pod["metadata"]["finalizers"] = {"batch.kubernetes.io/job-tracking"};
  client_.Seed(kube::Pods(), pod);
  Process process(*this, true);
  process.Pass();
  RefusePod("a-0-1");
  process.Pass();
  clock_.Advance(3'000);
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    const bool patch = call.verb == kube::Verb::kPatch && call.target.resource == kube::Pods();
    return patch ? absl::PermissionDeniedError("no") : absl::OkStatus();
  });
  EXPECT_EQ(process.Pass().refused_hosts, 1);
  EXPECT_TRUE(
      client_.Find(kube::Pods(), "team", "a-0-1")->at("metadata").contains("deletionTimestamp"));
}

TEST_F(UnschedulableStepTest, APodWhoseEvictionABudgetForbidsIsTriedEverLessOften) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  RunAllBut("a-1-2");
  RefusePod("a-1-2");
  int tried = 0;
  client_.SetHook([&](const kube::Call& call) -> absl::Status {
    if (call.target.subresource != "eviction") return absl::OkStatus();
    ++tried;
    return absl::ResourceExhaustedError("it would violate the pod's disruption budget");
  });
  for (int second = 0; second <= 60; ++second) {
    process.Pass();
    clock_.Advance(1'000);
  }
  EXPECT_EQ(tried, 4) << "after 3, 9, 21 and 45 seconds";
}

TEST_F(UnschedulableStepTest, ARefusalOfLongAgoDoesNotMakeTheNextWaitLonger) {
  AddBatchJob("a", 1);
  Process process(*this, true);
  process.Pass();
  RefusePod("a-0-1");
  process.Pass();
  clock_.Advance(3'000);
  process.Pass();
  ASSERT_FALSE(Exists("a-0-1"));
  std::string pod = AddJobPod("a", 0, "tp=8,dp=1");
  process.Pass();
  RunReleasedPods();
  process.Pass();
  clock_.Advance(24 * 3'600'000);
  DeletePod(pod);
  pod = AddJobPod("a", 0, "tp=8,dp=1");
  process.Pass();
  RefusePod(pod);
  process.Pass();
  clock_.Advance(3'000);
  process.Pass();
  EXPECT_FALSE(Exists(pod));
}

TEST(RefusalsTest, OfMoreThanAnObjectHoldsThoseThatEndFirstAreForgotten) {
  api::GangStatus status;
  for (int rank = 0; rank < 3'000; ++rank) {
    AddRefusal(status, rank, "n", std::string(2'000, 'x'), 1'000'000'000 + rank * 1'000);
  }
  EXPECT_EQ(status.refusals.size(), api::kMaxRefusals);
  EXPECT_EQ(status.refusals.back().rank, 2'999);
  EXPECT_EQ(status.refusals.front().rank, 3'000 - static_cast<int>(api::kMaxRefusals));
  std::size_t bytes = 0;
  for (const api::HostRefusal& refusal : status.refusals) bytes += refusal.message.size();
  EXPECT_LE(bytes, 600'000u);
}

// The API server would store another text than the one that is compared with it in the next pass.
TEST(RefusalsTest, AMessageIsNotCutInsideACharacter) {
  api::GangStatus status;
  AddRefusal(status, 0, "n", std::string(499, 'x') + "\xC3\xA9", 1'000'000'000);
  EXPECT_EQ(status.refusals[0].message, std::string(499, 'x'));
}

}  // namespace
}  // namespace yardmaster::extender
