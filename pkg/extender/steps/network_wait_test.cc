#include "pkg/extender/steps/network_wait.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"

#include "pkg/api/network_generation.h"
#include "pkg/api/pin_patch.h"
#include "pkg/api/slot.h"
#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

using ::testing::HasSubstr;

class NetworkWaitTest : public BatchJobFixture {
 protected:
  NetworkWaitTest() {
    AddFabric();
    planner_options_.release.network_wait_ms = 10'000;
  }

  // As the operator does, on the pods of a job from the `first` on.
  void WriteNetworkPlan(const std::string& job, const std::string& generation,
                        std::size_t first = 0) {
    const std::vector<json> pods = PodsOf(job);
    for (std::size_t i = first; i < pods.size(); ++i) {
      json pod = pods[i];
      pod["metadata"]["annotations"][api::kNetworkGenerationAnnotation] = generation;
      client_.Seed(kube::Pods(), pod);
    }
  }
  // As the operator does with a pod of a gang that is whole.
  void Release(const std::string& job, std::size_t index) {
    json pod = PodsOf(job)[index];
    const std::string gang = "job-" + job;
    const json slot = Gang(gang)["status"]["assignments"][index];
    api::Pin pin;
    pin.uid = pod["metadata"]["uid"];
    pin.host = slot["host"];
    pin.slot_annotation =
        api::EncodeSlot({gang, static_cast<int>(index), "p0", slot["segment"], {}});
    pod = pod.patch(api::PinAndReleasePatch(pod, pin).value());
    pod["metadata"]["annotations"][api::kNetworkGenerationAnnotation] =
        StrCat(Gang(gang)["status"]["planGeneration"].get<int>());
    client_.Seed(kube::Pods(), pod);
  }
  int Gated(const std::string& job) {
    int gated = 0;
    for (const json& pod : PodsOf(job)) {
      gated += pod["spec"].value("schedulingGates", json::array()).empty() ? 0 : 1;
    }
    return gated;
  }
};

TEST_F(NetworkWaitTest, AGangIsReleasedOnceEveryPodCarriesTheNetworkPlanOfItsPlaces) {
  AddBatchJob("a", 3);
  Process process(*this, true);
  const PassReport placed = process.Pass();
  EXPECT_EQ(placed.committed, 1);
  EXPECT_EQ(placed.released_pods, 0);
  EXPECT_LE(placed.wake_in_ms, 10'000);
  EXPECT_EQ(Gated("a"), 3);
  EXPECT_EQ(process.Pass().released_pods, 0);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "pods"), 0) << "one patch a pod, the release";

  WriteNetworkPlan("a", "1", 1);
  EXPECT_EQ(process.Pass().released_pods, 0) << "all or none";
  WriteNetworkPlan("a", "0");
  EXPECT_EQ(process.Pass().released_pods, 0) << "for places that it had before";
  WriteNetworkPlan("a", "1");
  EXPECT_EQ(process.Pass().released_pods, 3);
  EXPECT_EQ(Gated("a"), 0);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "pods"), 3);
  EXPECT_EQ(NoticesAbout("NetworkPlanLate"), "");
}

TEST_F(NetworkWaitTest, ThePlanOfAGangThatWasDeletedIsNotTakenForThatOfItsSuccessor) {
  AddBatchJob("a", 3);
  Process process(*this, true);
  process.Pass();
  WriteNetworkPlan("a", "1", 1);
  ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "job-a", ""}, {}).ok());
  process.Pass();
  ASSERT_EQ(HostsOf("job-a").size(), 3u);
  WriteNetworkPlan("a", "1");
  EXPECT_EQ(process.Pass().released_pods, 0);
  WriteNetworkPlan("a", "2");
  EXPECT_EQ(process.Pass().released_pods, 3);
}

TEST_F(NetworkWaitTest, AfterItsLimitAGangIsReleasedWithoutAndThatIsSaidOnce) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  clock_.Advance(9'999);
  const PassReport before = process.Pass();
  EXPECT_EQ(before.released_pods, 0);
  EXPECT_EQ(before.wake_in_ms, 1);
  clock_.Advance(1);
  const PassReport late = process.Pass();
  EXPECT_EQ(late.released_pods, 2);
  EXPECT_EQ(late.late_networks, 1);
  EXPECT_EQ(process.Pass().late_networks, 0);
  EXPECT_EQ(
      NoticesAbout("NetworkPlanLate"),
      "no network plan on 2 pods after 10 s; released without: their traffic takes default paths "
      "and classes until the operator writes it\n");
}

TEST_F(NetworkWaitTest, TheLimitCountsFromTheLastPodThatGotItsPlan) {
  AddBatchJob("a", 3);
  Process process(*this, true);
  process.Pass();
  for (std::size_t left : {2u, 1u}) {
    clock_.Advance(8'000);
    WriteNetworkPlan("a", "1", left);
    EXPECT_EQ(process.Pass().released_pods, 0);
  }
  clock_.Advance(10'000);
  EXPECT_EQ(process.Pass().released_pods, 3);
  EXPECT_THAT(NoticesAbout("NetworkPlanLate"), HasSubstr("on 1 pod after"));
}

TEST_F(NetworkWaitTest, PodsThatTheOperatorReleasesAreProgress) {
  AddBatchJob("a", 3);
  AddBatchJob("b", 2);
  Process process(*this, true);
  process.Pass();
  for (std::size_t left : {3u, 2u, 1u}) {
    clock_.Advance(8'000);
    Release("a", left - 1);
    EXPECT_EQ(process.Pass().released_pods, 0) << left;
  }
  EXPECT_EQ(Gated("a"), 0);
  for (std::size_t left : {2u, 1u}) {
    clock_.Advance(8'000);
    Release("b", left - 1);
    EXPECT_EQ(process.Pass().released_pods, 0) << left;
  }
  EXPECT_EQ(Gated("b"), 0);
  EXPECT_EQ(NoticesAbout("NetworkPlanLate"), "");
}

TEST_F(NetworkWaitTest, WhatAnOperatorThatIsGoneHasLeftBehindTheGateIsReleasedAfterTheLimit) {
  AddBatchJob("a", 3);
  Process process(*this, true);
  process.Pass();
  Release("a", 2);
  process.Pass();
  clock_.Advance(9'999);
  EXPECT_EQ(process.Pass().released_pods, 0);
  clock_.Advance(1);
  EXPECT_EQ(process.Pass().released_pods, 2);
  EXPECT_THAT(NoticesAbout("NetworkPlanLate"), HasSubstr("on 2 pods after"));
}

TEST_F(NetworkWaitTest, NoGangIsLateBecauseTheOperatorWritesThePlansOfOthersFirst) {
  const std::vector<std::string> jobs = {"a", "b", "c"};
  for (const std::string& job : jobs) AddBatchJob(job, 2);
  Process process(*this, true);
  process.Pass();
  for (const std::string& job : jobs) {
    for (const std::size_t left : {1u, 0u}) {
      clock_.Advance(8'000);
      WriteNetworkPlan(job, "1", left);
      process.Pass();
    }
    EXPECT_EQ(Gated(job), 0) << job;
  }
  EXPECT_EQ(NoticesAbout("NetworkPlanLate"), "");
}

// The plan of "a" never comes.
TEST_F(NetworkWaitTest, PlansOfLaterGangsHoldNoGangForEver) {
  AddBatchJob("a", 2);
  AddBatchJob("b", 2);
  Process process(*this, true);
  process.Pass();
  for (int round = 0; round < 6 && Gated("a") > 0; ++round) {
    const std::string job = round == 0 ? "b" : StrCat("later-", round);
    if (round > 0) AddBatchJob(job, 2);
    process.Pass();
    clock_.Advance(8'000);
    WriteNetworkPlan(job, "1", 1);
    process.Pass();
    WriteNetworkPlan(job, "1");
    process.Pass();
    EXPECT_EQ(Gated(job), 0) << job;
    DeletePod(PodsOf(job)[1]["metadata"]["name"]);
    DeletePod(PodsOf(job)[0]["metadata"]["name"]);
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "job-" + job, ""}, {}).ok());
  }
  EXPECT_EQ(Gated("a"), 0);
  EXPECT_THAT(NoticesAbout("NetworkPlanLate"), HasSubstr("on 2 pods after"));
}

TEST_F(NetworkWaitTest, PodsThatAreMadeAgainAreNoProgressOfTheOperator) {
  AddBatchJob("a", 3);
  Process process(*this, true);
  process.Pass();
  for (int round = 0; round < 3; ++round) {
    clock_.Advance(4'000);
    DeletePod(PodsOf("a")[2]["metadata"]["name"]);
    process.Pass();
    AddJobPod("a", 2, "tp=8,dp=3");
    process.Pass();
  }
  EXPECT_EQ(Gated("a"), 0);
  EXPECT_THAT(NoticesAbout("NetworkPlanLate"), HasSubstr("after 10 s"));
}

TEST_F(NetworkWaitTest, AReplacedRankWaitsForThePlanOfTheNewPlaces) {
  AddBatchJob("a", 3);
  Process process(*this, true);
  process.Pass();
  WriteNetworkPlan("a", "1");
  ASSERT_EQ(process.Pass().released_pods, 3);
  const std::string lost = HostsOf("job-a")[1];
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/false);
  DeletePod(PodsOf("a")[1]["metadata"]["name"]);
  AddJobPod("a", 1, "tp=8,dp=3");
  process.Pass();
  process.Pass();
  ASSERT_EQ(Gang("job-a")["status"]["planGeneration"], 2);
  EXPECT_EQ(Gated("a"), 1);
  WriteNetworkPlan("a", "2");
  EXPECT_EQ(process.Pass().released_pods, 1);
}

TEST_F(NetworkWaitTest, AGangThatWaitsHoldsUpNoOtherGang) {
  AddBatchJob("a", 2);
  AddBatchJob("b", 2);
  Process process(*this, true);
  process.Pass();
  WriteNetworkPlan("b", "1");
  EXPECT_EQ(process.Pass().released_pods, 2);
  EXPECT_EQ(Gated("a"), 2);
  EXPECT_EQ(Gated("b"), 0);
}

TEST_F(NetworkWaitTest, TheWaitBeginsWhenOthersHaveOpenedTheirGates) {
  AddBatchJob("a", 2);
  const auto set_gates = [this](const json& gates) {
    for (json pod : PodsOf("a")) {
      pod["spec"]["schedulingGates"] = gates;
      client_.Seed(kube::Pods(), pod);
    }
  };
  const json ours = {{"name", api::kPlacementGate}};
  set_gates(json::array({ours, {{"name", "other/gate"}}}));
  Process process(*this, true);
  process.Pass();
  clock_.Advance(20'000);
  process.Pass();
  EXPECT_EQ(NoticesAbout("NetworkPlanLate"), "");
  set_gates(json::array({ours}));
  process.Pass();
  EXPECT_EQ(process.Pass().released_pods, 0);
  WriteNetworkPlan("a", "1");
  EXPECT_EQ(process.Pass().released_pods, 2);
  EXPECT_EQ(NoticesAbout("NetworkPlanLate"), "");
}

TEST_F(NetworkWaitTest, AGangOnOneHostDoesNotWait) {
  AddBatchJob("a", 1);
  Process process(*this, true);
  process.Pass();
  EXPECT_EQ(Gated("a"), 0);
}

using NetworkWaitWithoutFabricTest = BatchJobFixture;

TEST_F(NetworkWaitWithoutFabricTest, NoGangWaits) {
  planner_options_.release.network_wait_ms = 10'000;
  AddBatchJob("a", 2);
  Process process(*this, true);
  EXPECT_EQ(process.Pass().released_pods, 2);
}

TEST_F(NetworkWaitTest, WithoutALimitNoGangWaits) {
  planner_options_.release.network_wait_ms = 0;
  AddBatchJob("a", 2);
  Process process(*this, true);
  EXPECT_EQ(process.Pass().released_pods, 2);
}

}  // namespace
}  // namespace yardmaster::extender
