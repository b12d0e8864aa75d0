// CapacityPool and spec.capacity: round trips and what errors say.
#include "pkg/api/capacity_pool.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/training_job.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json Pool() {
  return json::parse(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "CapacityPool",
    "metadata": {"name": "spot-a"},
    "spec": {"instanceType": "gpu.8x", "allocatable": {"cpu": "96", "nvidia.com/gpu": "8"},
      "zone": "z1", "fabricPod": "p0", "segment": "s1", "nodeLabels": {"pool": "a"},
      "offers": [{"type": "Spot", "pricePerHour": "9.80 USD", "maxHosts": 16,
                  "interruptionsPerHour": 0.02, "noticeSeconds": 120},
                 {"type": "OnDemand", "pricePerHour": "32 USD", "maxHosts": 64,
                  "nodeLabels": {"market": "on-demand"}}],
      "scaling": {"provisioningClassName": "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
                  "parameters": {"group": "a"}, "timeoutSeconds": 600},
      "namespaceSelector": {"matchLabels": {"team": "blue"},
        "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["test"]}]},
      "budget": {"maxCostPerHour": "200 USD", "maxCostPerHourPerNamespace": "50.5 USD"}}})");
}

std::string ProblemOf(const json& pool) { return MessageOf(DecodeCapacityPool(pool).status()); }

TEST(CapacityPoolTest, EveryFieldSurvivesARoundTrip) {
  const auto pool = DecodeCapacityPool(Pool());
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_EQ(pool->offers[0].price_per_hour, (capacity::Money{9'800'000, "USD"}));
  EXPECT_EQ(pool->offers[1].interruptions_per_hour, 0);
  const json encoded = EncodeCapacityPool(*pool);
  const auto again = DecodeCapacityPool(encoded);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(EncodeCapacityPool(*again), encoded);
  EXPECT_EQ(again->offers, pool->offers);
  EXPECT_EQ(again->scaling, pool->scaling);
  EXPECT_EQ(again->node_labels, pool->node_labels);
  EXPECT_EQ(again->namespace_selector, pool->namespace_selector);
  EXPECT_TRUE(pool->namespace_selector->Selects({{"team", "blue"}}));
  EXPECT_FALSE(pool->namespace_selector->Selects({{"team", "blue"}, {"tier", "test"}}));
  EXPECT_FALSE(pool->namespace_selector->Selects({{"tier", "test"}}));
  EXPECT_EQ(again->budget, pool->budget);
  EXPECT_EQ(pool->budget.max_cost_per_hour_per_namespace, (capacity::Money{50'500'000, "USD"}));
}

TEST(CapacityPoolTest, EveryFieldThatIsWrongIsNamed) {
  const auto with = [](const char* pointer, json value) {
    json pool = Pool();
    pool[json::json_pointer(pointer)] = std::move(value);
    return ProblemOf(pool);
  };
  EXPECT_THAT(with("/spec/instanceType", nullptr), HasSubstr("spec.instanceType"));
  EXPECT_THAT(with("/spec/allocatable", json::object()), HasSubstr("spec.allocatable: is empty"));
  EXPECT_THAT(with("/spec/allocatable/cpu", "many"), HasSubstr("spec.allocatable.cpu"));
  EXPECT_THAT(with("/spec/offers", json::array()), HasSubstr("spec.offers: is empty"));
  EXPECT_THAT(with("/spec/offers/1/type", "Spot"),
              HasSubstr("spec.offers[1].type: expected a value that no earlier entry has"));
  EXPECT_THAT(with("/spec/offers/1/type", "Cheap"), HasSubstr("spec.offers[1].type"));
  EXPECT_THAT(with("/spec/offers/1/type", nullptr), HasSubstr("spec.offers[1].type: is missing"));
  EXPECT_THAT(with("/spec/offers/0/pricePerHour", "9.80"),
              HasSubstr("spec.offers[0].pricePerHour: \"9.80\" is not an amount of money"));
  EXPECT_THAT(with("/spec/offers/0/pricePerHour", nullptr),
              HasSubstr("spec.offers[0].pricePerHour: is missing"));
  EXPECT_THAT(with("/spec/offers/0/pricePerHour", "1 EUR"), HasSubstr("several currencies"));
  EXPECT_THAT(with("/spec/offers/0/maxHosts", -1), HasSubstr("spec.offers[0].maxHosts"));
  EXPECT_THAT(with("/spec/offers/0/interruptionsPerHour", 101),
              HasSubstr("spec.offers[0].interruptionsPerHour"));
  EXPECT_THAT(with("/spec/offers/0/noticeSeconds", "2m"), HasSubstr("noticeSeconds"));
  EXPECT_THAT(with("/spec/zone", 1), HasSubstr("spec.zone"));
  EXPECT_THAT(with("/spec/fabricPod", 1), HasSubstr("spec.fabricPod"));
  EXPECT_THAT(with("/spec/segment", 1), HasSubstr("spec.segment"));
  EXPECT_THAT(with("/spec/nodeLabels/pool", 1), HasSubstr("spec.nodeLabels.pool"));
  EXPECT_THAT(with("/spec/offers/0/nodeLabels", 1), HasSubstr("spec.offers[0].nodeLabels"));
  EXPECT_THAT(with("/spec/offers/1/nodeLabels", nullptr),
              HasSubstr("spec.offers[1].nodeLabels: are those of another offer"));
  EXPECT_THAT(with("/spec/scaling/class", "x"), HasSubstr("spec.scaling.class"));
  EXPECT_THAT(with("/spec/scaling/provisioningClassName", 1),
              HasSubstr("spec.scaling.provisioningClassName"));
  EXPECT_THAT(with("/spec/scaling/provisioningClassName", nullptr),
              HasSubstr("spec.scaling.parameters: has no provisioningClassName"));
  EXPECT_THAT(with("/spec/scaling/parameters/group", 1), HasSubstr("spec.scaling.parameters"));
  EXPECT_THAT(with("/spec/scaling/timeoutSeconds", 0), HasSubstr("spec.scaling.timeoutSeconds"));
  EXPECT_THAT(with("/spec/scaling/nodeClassRef", {{"group", "g"}, {"kind", "K"}, {"name", "n"}}),
              HasSubstr("spec.scaling.nodeClassRef: stands beside provisioningClassName"));
  EXPECT_THAT(with("/spec/scaling/nodeClassRef", {{"group", "g"}, {"kind", "K"}}),
              HasSubstr("spec.scaling.nodeClassRef.name"));
  EXPECT_THAT(with("/spec/price", 1), HasSubstr("spec.price"));
}

TEST(CapacityPoolTest, AHostCarriesWorkersByItsScarcestResource) {
  const auto pool = DecodeCapacityPool(Pool());
  EXPECT_EQ(WorkersPerHost(*pool, {{"cpu", 12'000}, {"nvidia.com/gpu", 2}, {"pods", 1}}), 4);
  EXPECT_EQ(WorkersPerHost(*pool, {{"cpu", 50'000}, {"nvidia.com/gpu", 1}}), 1);
  EXPECT_EQ(WorkersPerHost(*pool, {{"nvidia.com/gpu", 9}}), 0);
  EXPECT_EQ(WorkersPerHost(*pool, {{"memory", 1}}), 0);
  EXPECT_EQ(WorkersPerHost(*pool, {{"cpu", 1}, {"yardmaster.dev/one-per-host-x", 1}}), 1);
}

}  // namespace
}  // namespace yardmaster::api
