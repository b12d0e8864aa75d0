#include "pkg/api/disruption_budget.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/testing/heap_meter.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

DisruptionBudget Decode(const char* spec, int allowed = 0) {
  const json object = {{"metadata", {{"name", "b"}, {"namespace", "team"}}},
                       {"spec", json::parse(spec)},
                       {"status", {{"disruptionsAllowed", allowed}}}};
  auto budget = DecodeDisruptionBudget(object);
  EXPECT_TRUE(budget.ok()) << budget.status();
  return *std::move(budget);
}

TEST(DisruptionBudgetTest, CoversThePodsOfItsNamespaceThatItsSelectorTakes) {
  const DisruptionBudget budget = Decode(R"({"selector": {"matchLabels": {"app": "a"},
                 "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]},
                                      {"key": "role", "operator": "Exists"},
                                      {"key": "old", "operator": "DoesNotExist"}]}})",
                                         3);
  EXPECT_EQ(budget.disruptions_allowed, 3);
  EXPECT_TRUE(budget.Covers("team", {{"app", "a"}, {"role", "r"}}));
  EXPECT_FALSE(budget.Covers("other", {{"app", "a"}, {"role", "r"}}));
  EXPECT_FALSE(budget.Covers("team", {{"app", "a"}}));
  EXPECT_FALSE(budget.Covers("team", {{"app", "a"}, {"role", "r"}, {"tier", "x"}}));
  EXPECT_FALSE(budget.Covers("team", {{"app", "a"}, {"role", "r"}, {"old", ""}}));
  EXPECT_FALSE(budget.Covers("team", {{"app", "b"}, {"role", "r"}}));
}

TEST(DisruptionBudgetTest, AnEmptySelectorCoversTheNamespaceAndAMissingOneNothing) {
  EXPECT_TRUE(Decode(R"({"selector": {}})").Covers("team", {}));
  EXPECT_FALSE(Decode("{}").Covers("team", {}));
}

TEST(DisruptionBudgetTest, AnOperatorThatDoesNotExistIsAnErrorThatNamesIt) {
  auto budget = DecodeDisruptionBudget(json::parse(
      R"({"metadata": {"name": "b"},
          "spec": {"selector": {"matchExpressions": [{"key": "k", "operator": "Near"}]}}})"));
  ASSERT_FALSE(budget.ok());
  EXPECT_NE(budget.status().message().find("matchExpressions[0].operator"), std::string::npos)
      << budget.status();
}

TEST(DisruptionBudgetTest, WhatIsKeptIsTheSelectorAndASelectorIsBounded) {
  json object = {{"metadata",
                  {{"name", "b"},
                   {"labels", {{"a", "b"}}},
                   {"annotations", {{"a", std::string(200'000, 'x')}}}}},
                 {"spec", {{"selector", {{"matchLabels", {{"app", "a"}}}}}}}};
  const HeapMeter heap;
  const auto budget = DecodeDisruptionBudget(object);
  ASSERT_TRUE(budget.ok());
  EXPECT_LE(heap.held(), 1024);
  for (int i = 0; i < 2'000; ++i) object["spec"]["selector"]["matchLabels"][std::to_string(i)] = "";
  EXPECT_FALSE(DecodeDisruptionBudget(object).ok());
}

}  // namespace
}  // namespace yardmaster::api
