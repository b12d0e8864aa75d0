#include "pkg/operator/jobs/quota_check.h"

#include <memory>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/status.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

std::shared_ptr<const api::Pod> PodOf(std::int64_t gpus, std::int64_t millicores = 0) {
  auto pod = std::make_shared<api::Pod>();
  workload::SetAmount(pod->requests, api::kGpuResource, gpus);
  workload::SetAmount(pod->requests, "cpu", millicores);
  return pod;
}

kube::ObjectPtr Quota(const json& hard, const json& used, const json& spec = json::object()) {
  return std::make_shared<const json>(json{
      {"metadata", {{"name", "q"}}}, {"spec", spec}, {"status", {{"hard", hard}, {"used", used}}}});
}

TEST(CheckQuotasTest, PodsThatFitAreNotRefused) {
  const auto quota = Quota({{"requests.nvidia.com/gpu", "32"}, {"pods", "4"}, {"cpu", "8"}},
                           {{"requests.nvidia.com/gpu", "0"}, {"pods", "0"}, {"cpu", "4"}});
  EXPECT_FALSE(CheckQuotas({quota}, {{PodOf(8, 1'000), 4}}));
  EXPECT_FALSE(CheckQuotas({}, {{PodOf(8), 4}}));
}

TEST(CheckQuotasTest, AllPodsOfTheJobCountAndTheTextIsThatOfTheApiServer) {
  const auto quota = Quota({{"requests.nvidia.com/gpu", "32"}}, {{"requests.nvidia.com/gpu", "8"}});
  EXPECT_FALSE(CheckQuotas({quota}, {{PodOf(8), 3}}));
  const auto refused = CheckQuotas({quota}, {{PodOf(8), 4}});
  ASSERT_TRUE(refused);
  EXPECT_TRUE(absl::IsPermissionDenied(refused->status));
  EXPECT_EQ(refused->count, 4);
  EXPECT_EQ(MessageOf(refused->status),
            "exceeded quota: q, requested: requests.nvidia.com/gpu=8, used: "
            "requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=32");
}

TEST(CheckQuotasTest, CoresAreCountedInThousandths) {
  const auto quota = Quota({{"requests.cpu", "2"}}, {{"requests.cpu", "500m"}});
  EXPECT_FALSE(CheckQuotas({quota}, {{PodOf(0, 500), 3}}));
  EXPECT_TRUE(CheckQuotas({quota}, {{PodOf(0, 501), 3}}));
}

TEST(CheckQuotasTest, PodsOfSeveralShapesShareAQuota) {
  const auto quota = Quota({{"requests.nvidia.com/gpu", "32"}}, {{"requests.nvidia.com/gpu", "0"}});
  EXPECT_FALSE(CheckQuotas({quota}, {{PodOf(8), 3}, {PodOf(4), 2}}));
  const auto refused = CheckQuotas({quota}, {{PodOf(8), 3}, {PodOf(4), 3}});
  ASSERT_TRUE(refused) << "each alone has enough";
  EXPECT_EQ(refused->count, 3);
  EXPECT_EQ(MessageOf(refused->status),
            "exceeded quota: q, requested: requests.nvidia.com/gpu=4, used: "
            "requests.nvidia.com/gpu=24, limited: requests.nvidia.com/gpu=32");
}

TEST(CheckQuotasTest, ShapesThatDoNotAskForAResourceTakeNoneOfIt) {
  const auto quota = Quota({{"requests.cpu", "2"}}, {{"requests.cpu", "1"}});
  EXPECT_FALSE(CheckQuotas({quota}, {{PodOf(8), 1'000}, {PodOf(0, 500), 2}}));
  const auto refused = CheckQuotas({quota}, {{PodOf(0, 500), 1}, {PodOf(0, 501), 1}});
  ASSERT_TRUE(refused);
  EXPECT_EQ(MessageOf(refused->status),
            "exceeded quota: q, requested: requests.cpu=501m, used: requests.cpu=1500m, limited: "
            "requests.cpu=2");
}

TEST(CheckQuotasTest, WhatIsNotKnownRefusesNothing) {
  const json none = {{"requests.nvidia.com/gpu", "0"}};
  const std::vector<kube::ObjectPtr> quotas = {
      Quota(none, json::object()),
      Quota(none, none, {{"scopes", {"BestEffort"}}}),
      Quota(none, none, {{"scopeSelector", json::object()}}),
      Quota({{"limits.cpu", "0"}, {"services", "0"}}, {{"limits.cpu", "0"}, {"services", "0"}}),
      Quota({{"requests.nvidia.com/gpu", "much"}}, none),
      Quota({{"requests.nvidia.com/gpu", 0}}, none),
      Quota("none", none),
      std::make_shared<const json>(json::array()),
      std::make_shared<const json>(json{{"status", "new"}})};
  EXPECT_FALSE(CheckQuotas(quotas, {{PodOf(8), 4}}));
}

}  // namespace
}  // namespace yardmaster::op
