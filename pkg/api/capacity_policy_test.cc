#include "pkg/api/capacity_policy.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/api/training_job.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json JobWith(const char* capacity) {
  return {{"apiVersion", "yardmaster.dev/v1alpha1"},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", "a"}, {"namespace", "default"}}},
          {"spec", {{"workers", 2}, {"capacity", json::parse(capacity)}}}};
}

TEST(CapacityPolicyTest, EveryFieldSurvivesARoundTrip) {
  const auto job = DecodeTrainingJob(
      JobWith(R"({"types": ["Spot"], "instanceTypes": ["x"], "mixedInstanceTypes": true,
                  "maxCostPerHour": "80.00 USD", "maxTotalCost": "1000.00 USD",
                  "minRuntimeSeconds": 1800, "restartSeconds": 90, "onPriceRise": "Wait"})"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_TRUE(job->capacity.has_cap());
  EXPECT_EQ(job->constraints.capacity_types, std::vector<CapacityType>{CapacityType::kSpot});
  const auto again = DecodeTrainingJob(EncodeTrainingJob(*job));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->capacity, job->capacity);
}

TEST(CapacityPolicyTest, WrongCapsAreNamed) {
  const auto problem = [](const char* capacity) {
    return MessageOf(DecodeTrainingJob(JobWith(capacity)).status());
  };
  EXPECT_THAT(problem(R"({"maxCostPerHour": 80})"), HasSubstr("spec.capacity.maxCostPerHour"));
  EXPECT_THAT(problem(R"({"maxTotalCost": "-5 USD"})"), HasSubstr("spec.capacity.maxTotalCost"));
  EXPECT_THAT(problem(R"({"maxCostPerHour": "8 USD", "maxTotalCost": "8 EUR"})"),
              HasSubstr("another currency"));
  EXPECT_THAT(problem(R"({"minRuntimeSeconds": -1})"), HasSubstr("minRuntimeSeconds"));
  EXPECT_THAT(problem(R"({"restartSeconds": "5m"})"), HasSubstr("spec.capacity.restartSeconds"));
  EXPECT_THAT(problem(R"({"onPriceRise": "Stay"})"), HasSubstr("spec.capacity.onPriceRise"));
  EXPECT_THAT(problem(R"({"types": ["Cheap"]})"), HasSubstr("spec.capacity.types[0]"));
  EXPECT_THAT(problem(R"({"instanceTypes": "x"})"), HasSubstr("spec.capacity.instanceTypes"));
  EXPECT_THAT(problem(R"({"mixedInstanceTypes": "yes"})"), HasSubstr("mixedInstanceTypes"));
  EXPECT_THAT(problem(R"({"checkpointSeconds": 5})"), HasSubstr("spec.capacity.checkpointSeconds"));
}

CapacityPolicy ReadBack(const json& capacity, FieldErrors& errors) {
  return DecodeObject<CapacityPolicy>(
      {&capacity, "spec.capacity", UnknownFields::kReject, &errors});
}

TEST(CapacityPolicyTest, WhatIsLeftOutIsTheDefaultAndIsNotWritten) {
  FieldErrors errors;
  EXPECT_EQ(ReadBack(json(), errors), CapacityPolicy{});
  EXPECT_EQ(ReadBack(json::object(), errors), CapacityPolicy{});
  EXPECT_TRUE(errors.empty()) << errors.status();
  EXPECT_EQ(EncodeObject(CapacityPolicy()), json::object());
}

TEST(CapacityPolicyTest, EachFieldAloneReadsBackAndIsAllThatIsWritten) {
  std::vector<CapacityPolicy> policies(8);
  policies[0].types = {CapacityType::kReserved, CapacityType::kOnDemand};
  policies[1].instance_types = {"b", "a"};
  policies[2].mixed_instance_types = true;
  policies[3].max_cost_per_hour = capacity::Money{12'500'000, "EUR"};
  policies[4].max_total_cost = capacity::Money{1, "USD"};
  policies[5].min_runtime_seconds = kMaxSeconds;
  policies[6].restart_seconds = 0;
  policies[7].on_price_rise = OnPriceRise::kWait;
  for (const CapacityPolicy& policy : policies) {
    const json written = EncodeObject(policy);
    EXPECT_EQ(written.size(), 1u) << written.dump();
    FieldErrors errors;
    EXPECT_EQ(ReadBack(written, errors), policy) << written.dump();
    EXPECT_TRUE(errors.empty()) << errors.status();
  }
}

TEST(CapacityPolicyTest, EitherCapAllowsRentalsAndHasTheCurrency) {
  CapacityPolicy policy;
  EXPECT_FALSE(policy.has_cap());
  EXPECT_EQ(policy.currency(), "");
  policy.max_total_cost = capacity::Money{1, "USD"};
  EXPECT_TRUE(policy.has_cap());
  EXPECT_EQ(policy.currency(), "USD");
  policy.max_total_cost.reset();
  policy.max_cost_per_hour = capacity::Money{1, "EUR"};
  EXPECT_TRUE(policy.has_cap());
  EXPECT_EQ(policy.currency(), "EUR");
}

}  // namespace
}  // namespace yardmaster::api
