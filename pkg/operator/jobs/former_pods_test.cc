#include "pkg/operator/jobs/former_pods.h"

#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/api/pod_path_plan.h"
#include "pkg/api/slot.h"

namespace yardmaster::op {
namespace {

constexpr std::int64_t kNowMs = 1'000'000;

// Rank 1 of two, whose pod was on host n1.
class PlaceAgainTest : public testing::Test {
 protected:
  PlaceAgainTest() {
    job_.metadata.name = "a";
    job_.metadata.namespace_name = "team";
    job_.metadata.uid = "job";
    gang_.metadata.name = "trainingjob-a";
    gang_.owner = {api::kGroupVersion, api::kTrainingJobKind, "a", "job", true};
    gang_.status.plan_generation = 3;
    gang_.status.assignments = {{0, "n0", "p0", "s0", {0}}, {1, "n1", "p0", "s0", {1}}};
    Set(api::kReleasedCondition, true);
    pod_.metadata.owners = {gang_.owner};
    pod_.node_name = "n1";
    pod_.metadata.annotations[api::kSlotAnnotation] =
        api::EncodeSlot({gang_.metadata.name, 1, "p0", "s0", {1}});
    pod_.metadata.annotations[api::kPriorityAnnotation] = "2";
    pod_.metadata.annotations[api::kNcclConfAnnotation] = "NCCL_IB_TC=96\n";
    SetPeer("n0");
    node_.metadata.name = "n1";
    node_.ready = true;
  }

  void Set(const char* condition, bool holds) {
    api::SetCondition(
        gang_.status.conditions,
        {condition, holds ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse, "Because",
         "", 1, 0},
        kNowMs);
  }
  void SetPeer(const std::string& host, std::int64_t expires_ms = 2 * kNowMs) {
    api::PeerPaths peer;
    peer.rank = 0;
    peer.host = host;
    peer.address = "10.0.0.1";
    peer.source_ports = {50'000};
    api::PodPathPlan plan;
    plan.fabric_generation = 1;
    plan.expires_ms = expires_ms;
    plan.rails = {{0, {peer}}};
    pod_.metadata.annotations[api::kPathPlanAnnotation] = *api::EncodePathPlan(plan);
  }
  std::optional<WorkerPlace> Again() {
    return PlaceAgain(job_, 1, {&pod_, &gang_, &node_, kNowMs});
  }

  api::TrainingJob job_;
  api::Gang gang_;
  api::Pod pod_;
  api::Node node_;
};

TEST_F(PlaceAgainTest, ARankGetsItsHostAndItsPlanAgain) {
  const auto place = Again();
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->host, "n1");
  EXPECT_EQ(place->slot, pod_.metadata.annotations.at(api::kSlotAnnotation));
  EXPECT_FALSE(place->backup_host);
  EXPECT_EQ(place->network.at(api::kPriorityAnnotation), "2");
  EXPECT_EQ(place->network.at(api::kNcclConfAnnotation), "NCCL_IB_TC=96\n");
  EXPECT_EQ(place->network.at(api::kNetworkGenerationAnnotation), "3");
  EXPECT_EQ(place->network.at(api::kPathPlanAnnotation),
            pod_.metadata.annotations.at(api::kPathPlanAnnotation));
}

TEST_F(PlaceAgainTest, ABackupHostIsTolerated) {
  node_.taints = {{api::kBackupKey, "", api::TaintEffect::kNoSchedule}};
  ASSERT_TRUE(Again().has_value());
  EXPECT_TRUE(Again()->backup_host);
}

TEST_F(PlaceAgainTest, ARankThatHasMovedWaits) {
  gang_.status.assignments[1].host = "n2";
  EXPECT_FALSE(Again().has_value());
}

TEST_F(PlaceAgainTest, ARankWhosePeerHasMovedWaitsForItsNewPlan) {
  gang_.status.assignments[0].host = "n2";
  EXPECT_FALSE(Again().has_value());
}

TEST_F(PlaceAgainTest, ARankWhosePlanHasExpiredWaits) {
  SetPeer("n0", kNowMs);
  EXPECT_FALSE(Again().has_value());
}

TEST_F(PlaceAgainTest, ARankWithoutALevelWaitsWhereItsGangHasOne) {
  pod_.metadata.annotations.erase(api::kPriorityAnnotation);
  EXPECT_TRUE(Again().has_value());
  gang_.status.network = api::NetworkStatus{};
  EXPECT_FALSE(Again().has_value());
}

TEST_F(PlaceAgainTest, ARankOfAGangThatIsStoppedOrHasNoPlaceWaits) {
  Set(api::kPreemptedCondition, true);
  EXPECT_FALSE(Again().has_value());
  Set(api::kPreemptedCondition, false);
  EXPECT_TRUE(Again().has_value());
  Set(api::kReleasedCondition, false);
  EXPECT_FALSE(Again().has_value());
  Set(api::kReleasedCondition, true);
  gang_.status.assignments.clear();
  EXPECT_FALSE(Again().has_value());
}

TEST_F(PlaceAgainTest, ARankOfAnEarlierJobOfThatNameWaits) {
  gang_.owner.uid = "before";
  EXPECT_FALSE(Again().has_value());
  gang_.owner.uid = "job";
  pod_.metadata.owners.front().uid = "before";
  EXPECT_FALSE(Again().has_value());
}

TEST_F(PlaceAgainTest, AHostThatMayNotBeUsedIsLeftToTheExtender) {
  node_.unschedulable = true;
  EXPECT_FALSE(Again().has_value());
  node_.unschedulable = false;
  node_.ready = false;
  EXPECT_FALSE(Again().has_value());
  node_.ready = true;
  job_.status.recovery.avoided = {{"n1", kNowMs + 1}};
  EXPECT_FALSE(Again().has_value());
  job_.status.recovery.avoided = {{"n1", kNowMs}};
  EXPECT_TRUE(Again().has_value());
  gang_.status.refusals = {{1, "n1", kNowMs + 1, 1, ""}};
  EXPECT_FALSE(Again().has_value());
}

TEST_F(PlaceAgainTest, AHostThatIsNotOfTheAdmittedFlavorIsLeftToTheExtender) {
  job_.constraints.node_selector = {{"gpu", "h100"}};
  EXPECT_FALSE(Again().has_value());
  node_.metadata.labels = {{"gpu", "h100"}};
  EXPECT_TRUE(Again().has_value());
}

TEST_F(PlaceAgainTest, APodThatAdmissionPutsBehindTheGateIsMadeThere) {
  pod_.metadata.annotations[api::kParallelismAnnotation] = "tp=8";
  EXPECT_FALSE(Again().has_value());
}

TEST(FormerPodsTest, PodsAreKeptByJobAndRankUntilTheyAreDropped) {
  FormerPods pods;
  const auto pod = std::make_shared<const api::Pod>();
  pods.Keep("team/a", 1, pod);
  EXPECT_EQ(pods.Find("team/a", 1), pod);
  EXPECT_EQ(pods.Find("team/a", 0), nullptr);
  EXPECT_EQ(pods.Find("team/b", 1), nullptr);
  pods.Drop("team/a");
  EXPECT_EQ(pods.Find("team/a", 1), nullptr);
}

}  // namespace
}  // namespace yardmaster::op
