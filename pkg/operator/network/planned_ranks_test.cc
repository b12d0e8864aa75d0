#include "pkg/operator/network/planned_ranks.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

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

PlannedRanks::AnnotationsOf Always(const std::string& value) {
  return [value](int rank) { return Annotations{{StrCat(rank), value}}; };
}

TEST(PlannedRanksTest, APlanHoldsForThePlacesThatItWasMadeFor) {
  PlannedRanks ranks;
  EXPECT_TRUE(ranks.Set(GangOf("a", 1), {0}, Always("v")));
  EXPECT_EQ(ranks.Find(GangOf("a", 1), 0), (Annotations{{"0", "v"}}));
  EXPECT_EQ(ranks.Find(GangOf("a", 1), 1), std::nullopt);
  EXPECT_FALSE(ranks.Has(GangOf("a", 1), 1));
  EXPECT_FALSE(ranks.Has(GangOf("a", 2), 0));
  EXPECT_FALSE(ranks.Has(GangOf("a", 1, "another"), 0));
  EXPECT_FALSE(ranks.Has(GangOf("b", 1), 0));
}

TEST(PlannedRanksTest, OnlyTheFirstPlanOfPlacesIsNews) {
  PlannedRanks ranks;
  EXPECT_TRUE(ranks.Set(GangOf("a", 1), {}, Always("v")));
  EXPECT_FALSE(ranks.Set(GangOf("a", 1), {0}, Always("w")));
  EXPECT_EQ(ranks.Find(GangOf("a", 1), 0), (Annotations{{"0", "w"}}));
  EXPECT_TRUE(ranks.Set(GangOf("a", 2), {}, Always("v")));
}

TEST(PlannedRanksTest, TextsAreMadeWhenAPodIs) {
  PlannedRanks ranks;
  int made = 0;
  ranks.Set(GangOf("a", 1), {0, 1}, [&made](int) {
    ++made;
    return std::optional<Annotations>();
  });
  EXPECT_TRUE(ranks.Has(GangOf("a", 1), 0));
  EXPECT_EQ(made, 0);
  EXPECT_EQ(ranks.Find(GangOf("a", 1), 0), std::nullopt) << "they cannot be written";
  EXPECT_EQ(made, 1);
}

TEST(PlannedRanksTest, OfAGangThatLacksNoPodNothingIsKept) {
  PlannedRanks ranks;
  ranks.Set(GangOf("a", 1), {0}, Always("v"));
  ranks.Set(GangOf("b", 1), {0}, Always("v"));
  ranks.KeepOnly({{"team", "b"}});
  EXPECT_FALSE(ranks.Has(GangOf("a", 1), 0));
  EXPECT_TRUE(ranks.Has(GangOf("b", 1), 0));
}

}  // namespace
}  // namespace yardmaster::op
