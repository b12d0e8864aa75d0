#include "pkg/operator/network/pod_release.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/refusals.h"
#include "pkg/api/slot.h"
#include "pkg/operator/testing/gated_pods.h"
#include "pkg/state/job_index.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

constexpr int kWorkers = 3;

class ReleasesOfTest : public ::testing::Test {
 protected:
  ReleasesOfTest() : gang_(PlacedGangOfJob("a", kWorkers)) {
    gang_.metadata.uid = "gang";
    gang_.job.workers = kWorkers;
    for (int rank = 0; rank < kWorkers; ++rank) {
      api::AssignmentEntry& slot = gang_.status.assignments[static_cast<std::size_t>(rank)];
      slot = {rank, StrCat("n", rank), "p0", "s0", {0}};
      Put(GatedPodOfJob("a", rank), rank);
      AddNode(slot.host, /*cordoned=*/false);
    }
  }

  void AddNode(const std::string& name, bool cordoned) {
    const json node = {
        {"metadata",
         {{"name", name}, {"labels", {{api::kFabricPodLabel, "p0"}, {api::kSegmentLabel, "s0"}}}}},
        {"spec", {{"unschedulable", cordoned}}},
        {"status",
         {{"allocatable", {{api::kGpuResource, "8"}}},
          {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
    cluster_.nodes.Put(std::make_shared<const api::Node>(api::DecodeNode(node).value()));
  }
  void Put(const api::Pod& pod, int rank) { pods_[rank] = std::make_shared<const api::Pod>(pod); }
  // How many pods are released.
  std::size_t Released(const std::set<std::string>& stopped = {}) const {
    plan::Snapshot snapshot = state::BuildSnapshot(cluster_);
    snapshot.now_ms = 10'000'000;
    return ReleasesOf(gang_, pods_, stopped, snapshot).size();
  }
  void SetCondition(const char* type) {
    api::SetCondition(gang_.status.conditions, {type, api::ConditionStatus::kTrue, "x", "", 1, 0},
                      1'000);
  }

  state::ClusterState cluster_;
  api::Gang gang_;
  std::map<int, std::shared_ptr<const api::Pod>> pods_;
};

TEST_F(ReleasesOfTest, AWholeGangIsReleasedForTheHostsOfItsSlots) {
  const auto releases = ReleasesOf(gang_, pods_, {}, state::BuildSnapshot(cluster_));
  ASSERT_EQ(releases.size(), 3u);
  const PlannedRelease& last = releases.at(2);
  EXPECT_EQ(last.pin.host, "n2");
  EXPECT_EQ(last.pin.uid, "uid-2");
  EXPECT_EQ(last.gang.text(), "team/job-a");
  EXPECT_EQ(last.gang_uid, "gang");
  EXPECT_EQ(last.plan_generation, 1);
  EXPECT_EQ(api::DecodeSlot(last.pin.slot_annotation)->rank, 2);
}

TEST_F(ReleasesOfTest, PodsThatAreReleasedAlreadyCountAndAreLeftAlone) {
  api::Pod pod = GatedPodOfJob("a", 1);
  pod.scheduling_gates.clear();
  Put(pod, 1);
  EXPECT_EQ(Released(), 2u);
}

TEST_F(ReleasesOfTest, NoPodOfAGangThatLacksARankIsReleased) {
  for (int rank = 0; rank < kWorkers; ++rank) {
    const auto pod = pods_.at(rank);
    pods_.erase(rank);
    EXPECT_EQ(Released(), 0u) << rank;
    pods_[rank] = pod;
  }
  gang_.job.workers = 4;
  EXPECT_EQ(Released(), 0u) << "it is to grow";
}

TEST_F(ReleasesOfTest, AGangThatHoldsNoHostsOrIsStoppedIsNotReleased) {
  EXPECT_EQ(Released({"another"}), 3u);
  EXPECT_EQ(Released({"gang"}), 0u);
  const api::Gang placed = gang_;
  for (const char* type : {state::kFinishedCondition, api::kPreemptedCondition}) {
    gang_ = placed;
    SetCondition(type);
    EXPECT_EQ(Released(), 0u) << type;
  }
  gang_ = placed;
  gang_.metadata.deleted_ms = 1;
  EXPECT_EQ(Released(), 0u);
  gang_ = placed;
  gang_.problems = {"spec.workers: unreadable"};
  EXPECT_EQ(Released(), 0u);
}

TEST_F(ReleasesOfTest, WhatHasToBeLookedAtIsLeftToTheExtender) {
  const api::Gang placed = gang_;
  api::AddRefusal(gang_.status, 1, "n1", "no", 10'000'000);
  EXPECT_EQ(Released(), 0u) << "a refused host";
  gang_ = placed;
  AddNode("n1", /*cordoned=*/true);
  EXPECT_EQ(Released(), 0u) << "an unavailable host";
  AddNode("n1", /*cordoned=*/false);
  EXPECT_EQ(Released(), 3u);
  api::Pod pod = GatedPodOfJob("a", 1);
  pod.scheduling_gates.emplace_back("others/gate");
  Put(pod, 1);
  EXPECT_EQ(Released(), 0u) << "a gate of others";
  pod = GatedPodOfJob("a", 1);
  pod.metadata.annotations[api::kSlotAnnotation] = "{}";
  Put(pod, 1);
  EXPECT_EQ(Released(), 0u) << "a slot of a former place";
  Put(GatedPodOfJob("a", 1), 1);
  for (api::AssignmentEntry& slot : gang_.status.assignments) slot.host = "n0";
  EXPECT_EQ(Released(), 0u) << "on one host no pod waits for the operator";
}

TEST_F(ReleasesOfTest, VictimsOfAnyDecisionAreStopped) {
  api::Gang preemptor = PlacedGangOfJob("b", 1);
  preemptor.status = {};
  preemptor.status.preemption = api::PreemptionStatus{1, {{"team", "job-a", "gang"}}, {}};
  state::ObjectTable<api::Gang> gangs;
  gangs.Put(std::make_shared<const api::Gang>(preemptor));
  gangs.Put(std::make_shared<const api::Gang>(gang_));
  EXPECT_EQ(StoppedGangs(gangs), std::set<std::string>{"gang"});
}

TEST_F(ReleasesOfTest, AReleaseHoldsForThePlanThatItWasMadeFor) {
  const PlannedRelease release = ReleasesOf(gang_, pods_, {}, state::BuildSnapshot(cluster_)).at(0);
  EXPECT_TRUE(StillHolds(release, &gang_));
  EXPECT_FALSE(StillHolds(release, nullptr));
  api::Gang other = gang_;
  other.status.plan_generation = 2;
  EXPECT_FALSE(StillHolds(release, &other)) << "other places";
  other = gang_;
  other.metadata.uid = "made again";
  EXPECT_FALSE(StillHolds(release, &other));
  other = gang_;
  other.status.assignments.clear();
  EXPECT_FALSE(StillHolds(release, &other)) << "its hosts are given back";
  SetCondition(api::kPreemptedCondition);
  EXPECT_FALSE(StillHolds(release, &gang_));
}

}  // namespace
}  // namespace yardmaster::op
