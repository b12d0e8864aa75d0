#include "pkg/operator/network/pods_by_gang.h"

#include <vector>

#include "gtest/gtest.h"

#include "pkg/api/network_generation.h"
#include "pkg/api/slot.h"
#include "pkg/operator/testing/gated_pods.h"

namespace yardmaster::op {
namespace {

class PodsByGangTest : public ::testing::Test {
 protected:
  void Add(api::Pod pod) { pods_.Put(std::make_shared<const api::Pod>(std::move(pod))); }
  void Add(const api::Gang& gang) { gangs_.Put(std::make_shared<const api::Gang>(gang)); }
  // "rank:pod" of one gang, ascending.
  std::string MembersOf(const std::string& gang) const {
    const PodsByGang index = IndexPods(pods_, gangs_);
    const auto at = index.find(gang);
    std::string text;
    if (at == index.end()) return text;
    for (const auto& [rank, pod] : at->second) text += StrCat(rank, ":", pod->metadata.name, " ");
    return text;
  }

  state::ObjectTable<api::Pod> pods_;
  state::ObjectTable<api::Gang> gangs_;
};

TEST_F(PodsByGangTest, APodBehindTheGateIsKnownByItsLabelsAndItsController) {
  Add(PlacedGangOfJob("a", 2));
  Add(GatedPodOfJob("a", 0));
  Add(GatedPodOfJob("a", 1));
  EXPECT_EQ(MembersOf("team/job-a"), "0:a-0 1:a-1 ");
}

TEST_F(PodsByGangTest, RanksFollowTheBasesOfTheGang) {
  api::Gang gang = PlacedGangOfJob("a", 6);
  gang.rank_bases = {{"", 4}};
  Add(gang);
  Add(GatedPodOfJob("a", 1));
  EXPECT_EQ(MembersOf("team/job-a"), "5:a-1 ");
}

TEST_F(PodsByGangTest, PodsThatHaveNoPlaceAreNotIndexed) {
  Add(GatedPodOfJob("no-gang", 0));
  api::Gang waits = PlacedGangOfJob("waits", 1);
  waits.status = {};
  Add(waits);
  Add(GatedPodOfJob("waits", 0));
  Add(PlacedGangOfJob("grows", 1));
  Add(GatedPodOfJob("grows", 1));
  EXPECT_TRUE(IndexPods(pods_, gangs_).empty());
}

TEST_F(PodsByGangTest, LabelsThatWereCopiedDoNotCount) {
  Add(PlacedGangOfJob("a", 4));
  api::Pod orphan = GatedPodOfJob("a", 0);
  orphan.metadata.owners.clear();
  Add(orphan);
  api::Pod of_another = GatedPodOfJob("a", 1);
  of_another.metadata.owners = {{"batch/v1", "Job", "b", "other", true}};
  Add(of_another);
  Add(GatedPodOfJob("a", 2, "former life of the name"));
  EXPECT_EQ(MembersOf("team/job-a"), "");
}

TEST_F(PodsByGangTest, PodsThatEndAreNotIndexed) {
  Add(PlacedGangOfJob("a", 2));
  api::Pod leaving = GatedPodOfJob("a", 0);
  leaving.metadata.deleted_ms = 1;
  Add(leaving);
  api::Pod finished = GatedPodOfJob("a", 1);
  finished.phase = "Failed";
  Add(finished);
  EXPECT_EQ(MembersOf("team/job-a"), "");
}

TEST_F(PodsByGangTest, AReleasedPodIsKnownByItsSlotAndGoesBeforeOneBehindTheGate) {
  Add(PlacedGangOfJob("a", 1));
  Add(GatedPodOfJob("a", 0));
  api::Pod released = GatedPodOfJob("a", 0);
  released.metadata.name = "z";
  released.scheduling_gates.clear();
  released.metadata.annotations[api::kSlotAnnotation] =
      api::EncodeSlot({"job-a", 0, "p0", "s", {0}});
  Add(released);
  EXPECT_EQ(MembersOf("team/job-a"), "0:z ");
}

TEST_F(PodsByGangTest, APodWaitsFromItsPlaceOnUntilItHasAPlanOrItsGateIsOpen) {
  const api::Gang gang = PlacedGangOfJob("a", 1);
  api::Pod pod = GatedPodOfJob("a", 0);
  EXPECT_TRUE(WaitsForPlan(pod, gang));
  EXPECT_FALSE(WaitsForPlan(GatedPodOfJob("a", 1), gang)) << "it has no place";
  api::Gang unplaced = gang;
  unplaced.status = {};
  EXPECT_FALSE(WaitsForPlan(pod, unplaced));
  pod.metadata.annotations[api::kNetworkGenerationAnnotation] = "1";
  EXPECT_FALSE(WaitsForPlan(pod, gang));
  pod.metadata.annotations.clear();
  pod.scheduling_gates.clear();
  EXPECT_FALSE(WaitsForPlan(pod, gang));
}

}  // namespace
}  // namespace yardmaster::op
