#include "pkg/placement/outcome.h"

#include <gtest/gtest.h>
#include <set>

namespace yardmaster::placement {
namespace {

TEST(OutcomeTest, EveryOutcomeAndCodeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (Outcome outcome : {Outcome::kPlaced, Outcome::kNotNow, Outcome::kNever}) {
    names.insert(Name(outcome));
  }
  constexpr int kCodes = static_cast<int>(ReasonCode::kInvalid) + 1;
  for (int code = 0; code < kCodes; ++code) names.insert(Name(static_cast<ReasonCode>(code)));
  EXPECT_EQ(names.size(), 3u + kCodes);
}

GangPlan Plan(Outcome outcome, std::vector<Reason> reasons = {},
              std::vector<Relaxation> relaxations = {}) {
  GangPlan plan;
  plan.outcome = outcome;
  plan.reasons = std::move(reasons);
  plan.relaxations = std::move(relaxations);
  return plan;
}

Reason Because(const char* message) {
  return {ReasonCode::kHostsOut, workload::TopologyLevel::kFabric, 1, message};
}

TEST(SentenceTest, APlacedGangWithoutReasonsHasNothingToSay) {
  EXPECT_EQ(Sentence(Plan(Outcome::kPlaced)), "");
}

TEST(SentenceTest, AllReasonsComeBeforeTheNearestTwoChangesThatHelp) {
  EXPECT_EQ(
      Sentence(Plan(Outcome::kNever, {Because("a"), Because("b")},
                    {{"c", Outcome::kNotNow}, {"d", Outcome::kPlaced}, {"e", Outcome::kPlaced}})),
      "a; b; with c: NotNow; with d: Placed");
}

TEST(SentenceTest, AChangeThatComesToNothingBetterIsLeftOutAndNotCounted) {
  EXPECT_EQ(Sentence(Plan(Outcome::kNotNow, {Because("a")},
                          {{"same", Outcome::kNotNow},
                           {"worse", Outcome::kNever},
                           {"one", Outcome::kPlaced},
                           {"two", Outcome::kPlaced}})),
            "a; with one: Placed; with two: Placed");
}

TEST(SentenceTest, GroupsThatCrossFabricPodsAreToldOfPlacedGangsOnly) {
  GangPlan plan = Plan(Outcome::kPlaced);
  plan.objective = {3, 2, 9, 9, 2, 4};
  EXPECT_EQ(Sentence(plan),
            "Preferred groups cross fabric pods: 2 times data groups, 3 times tensor, context or "
            "expert groups");
  plan.outcome = Outcome::kNotNow;
  EXPECT_EQ(Sentence(plan), "");
  plan.outcome = Outcome::kPlaced;
  plan.objective = {0, 0, 9, 9, 1, 4};
  EXPECT_EQ(Sentence(plan), "") << "segments may be crossed";
}

}  // namespace
}  // namespace yardmaster::placement
