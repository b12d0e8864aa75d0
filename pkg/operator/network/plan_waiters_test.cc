#include "pkg/operator/network/plan_waiters.h"

#include "gtest/gtest.h"

#include "pkg/operator/testing/gated_pods.h"

namespace yardmaster::op {
namespace {

TEST(PlanWaitersTest, AGangCountsOnceForEachOfItsPlans) {
  PlanWaiters waiters;
  api::Gang gang = PlacedGangOfJob("a", 2);
  gang.status.plan_generation = 0;
  waiters.NoteGang("team/job-a", &gang);
  EXPECT_EQ(waiters.counts().all, 0u) << "it has no place";
  gang.status.plan_generation = 1;
  waiters.NoteGang("team/job-a", &gang);
  waiters.NoteGang("team/job-a", &gang);
  EXPECT_EQ(waiters.counts().all, 1u);
  gang.status.plan_generation = 2;
  waiters.NoteGang("team/job-a", &gang);
  EXPECT_EQ(waiters.counts().all, 2u);
}

TEST(PlanWaitersTest, AGangMadeAgainUnderItsNameCountsAgain) {
  PlanWaiters waiters;
  const api::Gang gang = PlacedGangOfJob("a", 2);
  waiters.NoteGang("team/job-a", &gang);
  waiters.NoteGang("team/job-a", nullptr);
  waiters.NoteGang("team/job-a", &gang);
  EXPECT_EQ(waiters.counts().all, 2u);
}

TEST(PlanWaitersTest, APodCountsWhenItsGangHasAPlaceForIt) {
  PlanWaiters waiters;
  const auto gang = std::make_shared<const api::Gang>(PlacedGangOfJob("a", 1));
  const auto find = [&](const std::string& key) { return key == "team/job-a" ? gang : nullptr; };
  waiters.NotePod(GatedPodOfJob("b", 0), find);
  waiters.NotePod(GatedPodOfJob("a", 1), find);
  EXPECT_EQ(waiters.counts().all, 0u);
  waiters.NotePod(GatedPodOfJob("a", 0), find);
  EXPECT_EQ(waiters.counts().all, 1u);
}

TEST(PlanWaitersTest, AGangThatWasReleasedBeforeStandsStill) {
  PlanWaiters waiters;
  api::Gang gang = PlacedGangOfJob("a", 2);
  waiters.NoteGang("team/job-a", &gang);
  EXPECT_EQ(waiters.counts().blocked_released_gangs, 0u) << "it has not begun";
  gang.status.conditions.push_back(
      {api::kReleasedCondition, api::ConditionStatus::kTrue, "", "", 0, 0});
  gang.status.plan_generation = 2;
  waiters.NoteGang("team/job-a", &gang);
  EXPECT_EQ(waiters.counts().blocked_released_gangs, 1u);
  waiters.NotePod(GatedPodOfJob("a", 1),
                  [&](const std::string&) { return std::make_shared<const api::Gang>(gang); });
  EXPECT_EQ(waiters.counts().blocked_released_gangs, 2u);
}

}  // namespace
}  // namespace yardmaster::op
