#include "pkg/api/condition.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/status_text.h"

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

TEST(ConditionTest, OtherTypesKeepTheirPlaceAndContent) {
  std::vector<Condition> conditions;
  for (const char* type : {"Planned", "Released", "Degraded"}) {
    SetCondition(conditions, {type, ConditionStatus::kFalse, "A", type, 1, 0}, 1000);
  }
  const std::vector<Condition> before = conditions;
  EXPECT_TRUE(SetCondition(conditions, {"Released", ConditionStatus::kTrue, "B", "", 2, 0}, 5000));
  ASSERT_EQ(conditions.size(), 3u);
  EXPECT_EQ(conditions[0], before[0]);
  EXPECT_EQ(conditions[1].reason, "B");
  EXPECT_EQ(conditions[2], before[2]);
  EXPECT_EQ(FindCondition(conditions, "Released"), &conditions[1]);
  EXPECT_EQ(FindCondition(conditions, "Release"), nullptr);
  EXPECT_EQ(FindCondition({}, ""), nullptr);
}

// Else a status with a long message would be written in every round.
TEST(ConditionTest, ALongMessageIsCutAndSettingItAgainChangesNothing) {
  std::vector<Condition> conditions;
  const Condition given{
      "Planned", ConditionStatus::kFalse, "A", std::string(kMaxStatusTextBytes + 100, 'm'), 1, 0};
  EXPECT_TRUE(SetCondition(conditions, given, 1000));
  EXPECT_EQ(conditions[0].message.size(), kMaxStatusTextBytes);
  EXPECT_FALSE(SetCondition(conditions, given, 60'000));
}

TEST(ConditionTest, UnknownIsNotTrue) {
  const std::vector<Condition> conditions = {{"Ready", ConditionStatus::kUnknown, "", "", 0, 0}};
  EXPECT_FALSE(IsTrue(conditions, "Ready"));
}

TEST(ConditionTest, AWrongStatusIsNamedByItsPlace) {
  const json status = {{"conditions", json::array({{{"type", "A"}, {"status", "True"}},
                                                   {{"type", "B"}, {"status", "true"}}})}};
  FieldErrors errors;
  FieldReader in(&status, "status", UnknownFields::kReject, &errors);
  EXPECT_EQ(ReadConditions(in).size(), 2u);
  ASSERT_EQ(errors.lines().size(), 1u);
  EXPECT_EQ(errors.lines()[0],
            "status.conditions[1].status: expected True, False or Unknown, got \"true\"; did you "
            "mean True?");
}

}  // namespace
}  // namespace yardmaster::api
