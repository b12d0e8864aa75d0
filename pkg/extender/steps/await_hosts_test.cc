// Gangs that wait for hosts which come free soon, over whole passes; each pass is another process.
#include <set>
#include <string>

#include "gtest/gtest.h"

#include "pkg/extender/testing/planner_fixture.h"

namespace yardmaster::extender {
namespace {

// "old" runs on the three ordinary hosts of a segment, "side" on one of the other; "next" needs
// three.
class AwaitHostsTest : public PlannerFixture {
 protected:
  AwaitHostsTest() {
    planner_options_.await_limit_ms = 30'000;
    AddJob("old", 3);
    PassOfANewProcess();
    AddJob("side", 1);
    PassOfANewProcess();
    RunReleasedPods();
    for (const json& slot : Slots("old")) old_hosts_.insert(slot["host"].get<std::string>());
    AddJob("next", 3);
    PassOfANewProcess();
    EXPECT_FALSE(Placed("next"));
    EXPECT_TRUE(Condition("next", api::kAwaitsHostsCondition).empty());
  }

  // As the garbage collector begins: the job is being deleted, its Gang and the first of its pods
  // are gone.
  void BeginToEnd() {
    StampJob();
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "trainingjob-old", ""}, {}).ok());
    DeletePod("old-0");
  }
  void StampJob() {
    json job = *client_.Find(kube::TrainingJobs(), "team", "old");
    job["metadata"]["deletionTimestamp"] = FormatTime(clock_.WallMs());
    job["metadata"]["finalizers"] = json::array({"foregroundDeletion"});
    client_.Seed(kube::TrainingJobs(), job);
  }
  std::set<std::string> HostsOf(const std::string& job) {
    std::set<std::string> hosts;
    for (const json& slot : Slots(job)) hosts.insert(slot["host"].get<std::string>());
    return hosts;
  }

  std::set<std::string> old_hosts_;
};

TEST_F(AwaitHostsTest, AGangWaitsForTheRestOfABetterPlaceAndTakesIt) {
  BeginToEnd();
  PassOfANewProcess();
  EXPECT_FALSE(Placed("next"));
  EXPECT_EQ(Condition("next", api::kAwaitsHostsCondition)["status"], "True");
  const json reasons = GangStatus("next")["reasons"];
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0]["code"], "HostsLeaving");
  EXPECT_EQ(reasons[0]["message"],
            "waits up to 30 s for 2 hosts that come free: TrainingJob team/old ends; 1 segment "
            "then, 2 now");
  DeletePod("old-1");
  PassOfANewProcess();
  EXPECT_FALSE(Placed("next"));
  DeletePod("old-2");
  PassOfANewProcess();
  EXPECT_EQ(HostsOf("next"), old_hosts_);
  EXPECT_TRUE(Condition("next", api::kAwaitsHostsCondition).empty());
}

TEST_F(AwaitHostsTest, TheLimitGoesOnWithAnotherLeader) {
  BeginToEnd();
  PassOfANewProcess();
  for (int second = 0; second < 29; ++second) {
    clock_.Advance(1'000);
    PassOfANewProcess();
    ASSERT_FALSE(Placed("next")) << second;
  }
  clock_.Advance(1'000);
  PassOfANewProcess();
  EXPECT_EQ(HostsOf("next").size(), 3u);
  EXPECT_NE(HostsOf("next"), old_hosts_);
}

TEST_F(AwaitHostsTest, AHostThatEndsAgainAndAgainDoesNotProlongTheWait) {
  BeginToEnd();
  PassOfANewProcess();
  EXPECT_FALSE(Placed("next"));
  for (int second = 0; second < 30; ++second) {
    clock_.Advance(1'000);
    StampJob();
    PassOfANewProcess();
  }
  EXPECT_TRUE(Placed("next"));
}

TEST_F(AwaitHostsTest, AWaitInVainIsNotRepeated) {
  // What comes free makes the only place, and never does.
  for (int host = 0; host < kHostsPerSegment - 1; ++host) {
    const std::string name = NodeName(1, host);
    if (HostsOf("side").count(name) == 0) AddNode(1, host, /*ready=*/false);
  }
  BeginToEnd();
  PassOfANewProcess();
  EXPECT_EQ(Condition("next", api::kAwaitsHostsCondition)["status"], "True");
  clock_.Advance(30'000);
  StampJob();
  PassOfANewProcess();
  EXPECT_EQ(Condition("next", api::kAwaitsHostsCondition)["status"], "False");
  EXPECT_EQ(Condition("next", api::kAwaitsHostsCondition)["reason"], "LimitReached");
  clock_.Advance(3'600'000);
  StampJob();
  PassOfANewProcess();
  EXPECT_NE(GangStatus("next")["reasons"][0]["code"], "HostsLeaving");
  AddJob("small", 1);
  PassOfANewProcess();
  EXPECT_TRUE(Placed("small")) << "nothing is kept for next any more";
}

TEST_F(AwaitHostsTest, WhatIsKeptIsNotTakenByOthers) {
  BeginToEnd();
  AddJob("other", 1);
  Process leader(*this, /*leader=*/true);
  leader.Pass();
  ASSERT_TRUE(Placed("other"));
  for (const std::string& host : HostsOf("other")) EXPECT_EQ(old_hosts_.count(host), 0u) << host;
  EXPECT_FALSE(Placed("next"));
}

TEST_F(AwaitHostsTest, ItTakesWhatIsThereWithoutALimit) {
  planner_options_.await_limit_ms = 0;
  BeginToEnd();
  PassOfANewProcess();
  EXPECT_TRUE(Placed("next"));
}

}  // namespace
}  // namespace yardmaster::extender
