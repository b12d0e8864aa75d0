#include "pkg/agent/plans/effective_plan.h"

#include "gmock/gmock.h"

#include "pkg/agent/plans/plan_file.h"
#include "pkg/agent/testing/fake_sink.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

using rpc::PlanState;
using ::testing::HasSubstr;

constexpr std::int64_t kNow = 1'700'000'000'000;
constexpr std::int64_t kLater = kNow + 3'600'000;

void ExpectDefaultBehaviour(const EffectivePlan& plan) {
  EXPECT_EQ(plan.level, std::nullopt);
  EXPECT_EQ(plan.paths.traffic_class, std::nullopt);
  EXPECT_TRUE(plan.paths.rails.empty());
  EXPECT_EQ(plan.paths.expires_ms, 0);
  EXPECT_FALSE(plan.problem.empty());
}

TEST(Evaluate, AGoodPlanIsInForceUntilItExpires) {
  const EffectivePlan plan = Evaluate(ExamplePod("u", kLater), ExampleFabric(), kNow);
  EXPECT_EQ(plan.state, PlanState::kSynced);
  EXPECT_EQ(plan.level, 3);
  EXPECT_EQ(plan.paths.traffic_class, 64);
  EXPECT_EQ(plan.peers(), 2);
  EXPECT_EQ(plan.paths.expires_ms, kLater);
  EXPECT_EQ(plan.slot->rank, 3);
  EXPECT_TRUE(plan.problem.empty());
}

TEST(Evaluate, AnExpiredPlanMeansDefaultBehaviour) {
  const EffectivePlan plan = Evaluate(ExamplePod("u", kNow), ExampleFabric(), kNow);
  EXPECT_EQ(plan.state, PlanState::kStale);
  ExpectDefaultBehaviour(plan);
  EXPECT_EQ(plan.slot->rank, 3);  // the slot counts: it is not part of the network plan
}

TEST(Evaluate, APlanForAnOlderFabricIsStaleAndOneForANewerIsBelieved) {
  FabricView fabric = ExampleFabric();
  fabric.generation = 6;
  const EffectivePlan stale = Evaluate(ExamplePod("u", kLater), fabric, kNow);
  EXPECT_EQ(stale.state, PlanState::kStale);
  EXPECT_THAT(stale.problem, HasSubstr("generation 5 of Fabric fabric, which is at 6"));
  ExpectDefaultBehaviour(stale);

  fabric.generation = 4;
  EXPECT_EQ(Evaluate(ExamplePod("u", kLater), fabric, kNow).state, PlanState::kSynced);
  EXPECT_EQ(Evaluate(ExamplePod("u", kLater), std::nullopt, kNow).state, PlanState::kSynced);
}

TEST(Evaluate, APlanForAFabricThatWasRecreatedSinceIsStale) {
  FabricView fabric = ExampleFabric();
  fabric.generation = 1;
  fabric.uid = "fabric-2";
  PodInput pod = ExamplePod("u", kLater);
  // A plan of an earlier version does not say.
  EXPECT_EQ(Evaluate(pod, fabric, kNow).state, PlanState::kSynced);
  api::PodPathPlan paths = api::DecodePathPlan(*pod.path_plan).value();
  paths.fabric_uid = "fabric-1";
  pod.path_plan = api::EncodePathPlan(paths).value();
  const EffectivePlan stale = Evaluate(pod, fabric, kNow);
  EXPECT_EQ(stale.state, PlanState::kStale);
  EXPECT_THAT(stale.problem, HasSubstr("recreated since"));
  ExpectDefaultBehaviour(stale);
  fabric.uid = "fabric-1";
  EXPECT_EQ(Evaluate(pod, fabric, kNow).state, PlanState::kSynced);
}

TEST(Evaluate, WhateverCannotBeReadMeansDefaultBehaviourAndIsNamed) {
  for (const char* garbage :
       {"", "{", "null", "[]", "{\"version\":2}", "-1", "8", "3 ", "99999999999"}) {
    for (const auto& [member, name] :
         {std::pair{&PodInput::slot, "yardmaster.dev/slot"},
          std::pair{&PodInput::priority, "yardmaster.dev/network-priority"},
          std::pair{&PodInput::path_plan, "yardmaster.dev/path-plan"}}) {
      PodInput pod = ExamplePod("u", kLater);
      pod.*member = garbage;
      const EffectivePlan plan = Evaluate(pod, ExampleFabric(), kNow);
      EXPECT_EQ(plan.state, PlanState::kInvalid) << name << ": " << garbage;
      EXPECT_THAT(plan.problem, HasSubstr(name)) << garbage;
      ExpectDefaultBehaviour(plan);
    }
  }
}

TEST(Evaluate, TheTrafficClassIsThatOfTheLevelAndNotOfThePathPlan) {
  PodInput pod = ExamplePod("u", kLater);
  api::PodPathPlan paths = api::DecodePathPlan(*pod.path_plan).value();
  paths.traffic_class = 96;
  pod.path_plan = api::EncodePathPlan(paths).value();
  EXPECT_EQ(Evaluate(pod, ExampleFabric(), kNow).paths.traffic_class, 64);
  pod.priority = std::nullopt;
  EXPECT_EQ(Evaluate(pod, ExampleFabric(), kNow).paths.traffic_class, std::nullopt);
}

TEST(Evaluate, AGangPodWithoutANetworkPlanIsAwaited) {
  PodInput pod = ExamplePod("u", kLater);
  pod.priority = std::nullopt;
  pod.path_plan = std::nullopt;
  const EffectivePlan plan = Evaluate(pod, ExampleFabric(), kNow);
  EXPECT_EQ(plan.state, PlanState::kAwaiting);
  EXPECT_EQ(plan.level, std::nullopt);
  EXPECT_TRUE(plan.problem.empty());
}

TEST(PlanFile, SaysWhatIsInForce) {
  const PodInput pod = ExamplePod("u", kLater);
  const auto file =
      nlohmann::json::parse(EncodePlanFile(pod, Evaluate(pod, ExampleFabric(), kNow)));
  EXPECT_EQ(file, nlohmann::json::parse(StrCat(R"({
    "version": 1, "state": "Synced",
    "pod": {"namespace": "team", "name": "job-u", "uid": "u", "node": "n1"},
    "gang": "trainingjob-a", "rank": 3, "fabricPod": "p0", "segment": "p0s1", "stages": [0, 1],
    "level": 3, "trafficClass": 64, "environment": {"NCCL_IB_TC": "64"},
    "fabricGeneration": 5, "expires": ")",
                                               FormatTime(kLater), R"(",
    "rails": [
      {"rail": 0, "peers": [{"rank": 4, "host": "n2", "address": "10.0.0.9", "plane": 1,
                             "sourcePorts": [49321, 50007]}]},
      {"rail": 1, "peers": [{"rank": 4, "host": "n2", "address": "10.0.0.10", "plane": 1,
                             "sourcePorts": [49321, 50007]}]}]})")));
}

TEST(PlanFile, DefaultBehaviourSetsNothing) {
  PodInput pod = ExamplePod("u", kNow - 1);
  const auto file =
      nlohmann::json::parse(EncodePlanFile(pod, Evaluate(pod, ExampleFabric(), kNow)));
  EXPECT_EQ(file["state"], "Stale");
  EXPECT_EQ(file["environment"], nlohmann::json::object());
  EXPECT_EQ(file["rails"], nlohmann::json::array());
  EXPECT_FALSE(file.contains("level"));
  EXPECT_FALSE(file.contains("expires"));
  EXPECT_THAT(file["reason"], HasSubstr("expired"));
}

}  // namespace
}  // namespace yardmaster::agent
