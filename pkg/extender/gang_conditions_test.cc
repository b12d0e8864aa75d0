// Conditions of a Gang say what holds now, whatever happened before: a table of events, and after
// each what no condition may say.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

using testing::HasSubstr;
using testing::Not;

class GangConditionsTest : public BatchJobFixture {
 protected:
  GangConditionsTest() : process_(*this, true) {}

  // Passes with released pods bound after each.
  void Settle(int passes = 4) {
    for (int i = 0; i < passes; ++i) {
      process_.Pass();
      RunReleasedPods();
      clock_.Advance(1'000);
    }
    process_.Pass();
  }
  void MakePods(const std::string& job, int size) {
    for (int index = 0; index < size; ++index) AddJobPod(job, index, StrCat("tp=8,dp=", size));
  }
  json ConditionOf(const std::string& gang, const std::string& type) {
    const json object = Gang(gang);
    for (const json& c : object.value("/status/conditions"_json_pointer, json::array())) {
      if (c["type"] == type) return c;
    }
    return {{"status", "none"}, {"reason", ""}, {"message", ""}};
  }
  // Of all conditions together.
  std::string Messages(const std::string& gang) {
    std::string out;
    const json object = Gang(gang);
    for (const json& c : object.value("/status/conditions"_json_pointer, json::array())) {
      out += StrCat(c["type"].get<std::string>(), "=", c["status"].get<std::string>(), " ",
                    c["message"].get<std::string>(), "\n");
    }
    return out;
  }

  Process process_;
};

TEST_F(GangConditionsTest, AResumedJobSaysNothingOfItsSuspension) {
  AddBatchJob("a", 2);
  Settle();
  ASSERT_EQ(HostsOf("job-a").size(), 2u);
  clock_.Advance(61'000);
  process_.Pass();
  SuspendJob("a", true);
  DeletePodsOf("a");
  process_.Pass();
  EXPECT_EQ(ConditionOf("job-a", "Planned")["reason"], "Suspended");
  SuspendJob("a", false);
  MakePods("a", 2);
  process_.Pass();
  EXPECT_EQ(ConditionOf("job-a", "Planned")["status"], "True");
  EXPECT_EQ(ConditionOf("job-a", "Released")["status"], "False");
  EXPECT_THAT(Messages("job-a"), Not(HasSubstr("suspended")));
  EXPECT_THAT(Messages("job-a"), Not(HasSubstr("holds no host")));
  Settle();
  EXPECT_EQ(ConditionOf("job-a", "Released")["status"], "True");
}

TEST_F(GangConditionsTest, AJobThatIsSuspendedWhileItWaitsSaysSo) {
  AddBatchJob("a", 7);  // there are six hosts
  process_.Pass();
  ASSERT_THAT(Messages("job-a"), HasSubstr("short in the fabric"));
  SuspendJob("a", true);
  DeletePodsOf("a");
  process_.Pass();
  EXPECT_EQ(ConditionOf("job-a", "Planned")["reason"], "Suspended");
  EXPECT_THAT(Messages("job-a"), Not(HasSubstr("short in the fabric")));
  EXPECT_TRUE(Gang("job-a")["status"].value("reasons", json::array()).empty());
  SuspendJob("a", false);
  MakePods("a", 7);
  process_.Pass();
  EXPECT_THAT(Messages("job-a"), HasSubstr("short in the fabric"));
  EXPECT_THAT(Messages("job-a"), Not(HasSubstr("suspended")));
}

TEST_F(GangConditionsTest, AJobThatLosesItsPodsWhileItWaitsSaysSo) {
  AddBatchJob("a", 7);
  process_.Pass();
  DeletePodsOf("a");
  process_.Pass();
  EXPECT_EQ(ConditionOf("job-a", "Planned")["reason"], "NoPods");
  EXPECT_THAT(Messages("job-a"), HasSubstr("the gang has no pod; Job team/a"));
}

TEST_F(GangConditionsTest, AJobThatEndsWhileItWaitsSaysSo) {
  AddBatchJob("a", 7);
  process_.Pass();
  DeletePodsOf("a");
  EndJob("a", "Failed");
  process_.Pass();
  EXPECT_EQ(ConditionOf("job-a", "Planned")["reason"], "OwnerFinished");
}

TEST_F(GangConditionsTest, AJobThatIsDeletedWhileItWaitsSaysSoUntilItsGangIsDeleted) {
  AddBatchJob("a", 7);
  process_.Pass();
  DeletePodsOf("a");
  ASSERT_TRUE(client_.Delete({BatchJobs(), "team", "a", ""}, {}).ok());
  process_.Pass();
  EXPECT_EQ(ConditionOf("job-a", "Planned")["reason"], "OwnerGone") << Messages("job-a");
}

TEST_F(GangConditionsTest, ARefusedHostIsNotSaidToBeBoundWhileNoPodIsThere) {
  AddBatchJob("a", 1);
  process_.Pass();
  process_.Pass();
  const std::string pod = PodsOf("a")[0]["metadata"]["name"];
  json stuck = *client_.Find(kube::Pods(), "team", pod);
  stuck["status"]["conditions"] = json::array({{{"type", "PodScheduled"},
                                                {"status", "False"},
                                                {"reason", "Unschedulable"},
                                                {"message", "no CPU"}}});
  client_.Seed(kube::Pods(), stuck);
  process_.Pass();
  clock_.Advance(3'000);
  process_.Pass();
  ASSERT_EQ(ConditionOf("job-a", "HostRefused")["status"], "True") << Messages("job-a");
  DeletePodsOf("a");
  process_.Pass();
  EXPECT_THAT(Messages("job-a"), Not(HasSubstr("every pod is bound")));
  AddJobPod("a", 0, "tp=8,dp=1");
  Settle();
  EXPECT_EQ(ConditionOf("job-a", "HostRefused")["status"], "False");
}

TEST_F(GangConditionsTest, AGangThatIsPlacedAgainDoesNotSayThatItQueuesBehindTheOthers) {
  planner_options_.gates.ready_timeout_ms = 60'000;
  Process process(*this, true);
  AddBatchJob("a", 2);
  process.Pass();
  clock_.Advance(61'000);
  for (int i = 0; i < 3; ++i) process.Pass();
  ASSERT_EQ(ConditionOf("job-a", "Requeued")["status"], "True") << Messages("job-a");
  DeletePodsOf("a");
  MakePods("a", 2);
  process.Pass();
  ASSERT_EQ(HostsOf("job-a").size(), 2u);
  EXPECT_EQ(ConditionOf("job-a", "Requeued")["status"], "none");
}

TEST_F(GangConditionsTest, AFinishedGangIsNeitherRunningNorDegraded) {
  AddBatchJob("a", 2);
  Settle();
  clock_.Advance(61'000);
  process_.Pass();
  ASSERT_EQ(ConditionOf("job-a", "Running")["status"], "True");
  json gang = Gang("job-a");
  gang["status"]["conditions"].push_back({{"type", "Straggling"}, {"status", "True"}});
  client_.Seed(kube::Gangs(), gang);
  SetPhases("a", "Succeeded");
  process_.Pass();
  EXPECT_EQ(ConditionOf("job-a", "Finished")["status"], "True");
  EXPECT_EQ(ConditionOf("job-a", "Straggling")["status"], "False");
  for (const char* type : {"Running", "Degraded", "HostRefused", "PodsGone", "NetworkPlanned"}) {
    EXPECT_NE(ConditionOf("job-a", type)["status"], "True") << type;
  }
}

TEST_F(GangConditionsTest, AGangThatNeedsNoMoreRoomDoesNotWaitForIt) {
  AddBatchJob("a", 6);
  Settle();
  ASSERT_EQ(HostsOf("job-a").size(), 6u);
  const auto scale = [&](int size) {
    ChangeJob("a", [&](json& job) {
      job["spec"]["parallelism"] = size;
      job["spec"]["completions"] = size;
    });
  };
  scale(8);
  AddJobPod("a", 6, "tp=8,dp=6");
  AddJobPod("a", 7, "tp=8,dp=6");
  Settle();
  ASSERT_EQ(ConditionOf("job-a", "Resized")["reason"], "NoRoom") << Messages("job-a");
  scale(6);
  for (const json& pod : PodsOf("a")) {
    if (Gated(pod)) DeletePod(pod["metadata"]["name"]);
  }
  Settle();
  EXPECT_EQ(ConditionOf("job-a", "Resized")["status"], "True") << Messages("job-a");
}

// What `kubectl yardmaster explain` tells people to try.
TEST_F(GangConditionsTest, ATrainingJobThatWaitsFollowsAChangeOfItsPlacement) {
  AddJob("wide", 4, R"({"data": {"within": "Segment", "mode": "Required"}})");
  process_.Pass();
  process_.Pass();
  ASSERT_FALSE(Placed("wide")) << "a segment has three hosts";
  ASSERT_THAT(GangStatus("wide").dump(), HasSubstr("placement: {data: {within: FabricPod}}"));
  json job = *client_.Find(kube::TrainingJobs(), "team", "wide");
  job["spec"]["placement"]["data"]["within"] = "FabricPod";
  client_.Seed(kube::TrainingJobs(), job);
  process_.Pass();
  process_.Pass();
  EXPECT_TRUE(Placed("wide"));
}

}  // namespace
}  // namespace yardmaster::extender
