#include "pkg/api/condition.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::api {
namespace {

using nlohmann::json;

TEST(ConditionTest, TheTransitionTimeMovesOnlyWithTheStatus) {
  std::vector<Condition> conditions;
  EXPECT_TRUE(SetCondition(conditions, {"Planned", ConditionStatus::kFalse, "A", "a", 1, 0}, 1000));
  EXPECT_FALSE(
      SetCondition(conditions, {"Planned", ConditionStatus::kFalse, "A", "a", 1, 0}, 9000));
  EXPECT_TRUE(SetCondition(conditions, {"Planned", ConditionStatus::kFalse, "B", "b", 2, 0}, 9000));
  EXPECT_EQ(conditions[0].transition_ms, 1000);
  EXPECT_TRUE(SetCondition(conditions, {"Planned", ConditionStatus::kTrue, "C", "", 2, 0}, 12345));
  EXPECT_EQ(conditions[0].transition_ms, 12000);
  EXPECT_EQ(conditions.size(), 1u);
  EXPECT_TRUE(IsTrue(conditions, "Planned"));
  EXPECT_FALSE(IsTrue(conditions, "Degraded"));
}

TEST(ConditionTest, WhatIsWrittenReadsBackEqual) {
  const std::vector<Condition> conditions = {
      {"Planned", ConditionStatus::kTrue, "Committed", "all ranks have a host", 3,
       1'700'000'000'000},
      {"Degraded", ConditionStatus::kUnknown, "NoReport", "", 0, 1'700'000'001'000}};
  const json status = {{"conditions", EncodeConditions(conditions)}};
  FieldErrors errors;
  FieldReader in(&status, "status", UnknownFields::kReject, &errors);
  EXPECT_EQ(ReadConditions(in), conditions);
  EXPECT_TRUE(errors.empty());
}

}  // namespace
}  // namespace yardmaster::api
