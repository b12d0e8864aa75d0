#include "pkg/operator/network/planned_ranks.h"

#include "gtest/gtest.h"

namespace yardmaster::op {
namespace {

api::Gang GangOf(const std::string& name, std::int64_t generation, const std::string& uid = "u") {
  api::Gang gang;
  gang.metadata.namespace_name = "team";
  gang.metadata.name = name;
  gang.metadata.uid = uid;
  gang.status.plan_generation = generation;
  return gang;
}

TEST(PlannedRanksTest, APlanHoldsForThePlacesThatItWasMadeFor) {
  PlannedRanks ranks;
  EXPECT_TRUE(ranks.Set(GangOf("a", 1), {{0, {{"k", "v"}}}}));
  EXPECT_EQ(ranks.Find(GangOf("a", 1), 0), (Annotations{{"k", "v"}}));
  EXPECT_FALSE(ranks.Has(GangOf("a", 1), 1));
  EXPECT_FALSE(ranks.Has(GangOf("a", 2), 0));
  EXPECT_FALSE(ranks.Has(GangOf("a", 1, "another"), 0));
  EXPECT_FALSE(ranks.Has(GangOf("b", 1), 0));
}

TEST(PlannedRanksTest, OnlyTheFirstPlanOfPlacesIsNews) {
  PlannedRanks ranks;
  EXPECT_TRUE(ranks.Set(GangOf("a", 1), {}));
  EXPECT_FALSE(ranks.Set(GangOf("a", 1), {{0, {{"k", "w"}}}}));
  EXPECT_EQ(ranks.Find(GangOf("a", 1), 0), (Annotations{{"k", "w"}}));
  EXPECT_TRUE(ranks.Set(GangOf("a", 2), {}));
}

TEST(PlannedRanksTest, OfAGangThatLacksNoPodNothingIsKept) {
  PlannedRanks ranks;
  ranks.Set(GangOf("a", 1), {{0, {}}});
  ranks.Set(GangOf("b", 1), {{0, {}}});
  ranks.KeepOnly({{"team", "b"}});
  EXPECT_FALSE(ranks.Has(GangOf("a", 1), 0));
  EXPECT_TRUE(ranks.Has(GangOf("b", 1), 0));
}

}  // namespace
}  // namespace yardmaster::op
