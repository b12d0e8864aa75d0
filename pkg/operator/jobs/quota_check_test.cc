#include "pkg/operator/jobs/quota_check.h"

#include <memory>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/status.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

api::Pod PodOf(std::int64_t gpus, std::int64_t millicores = 0) {
  api::Pod pod;
  workload::SetAmount(pod.requests, api::kGpuResource, gpus);
  workload::SetAmount(pod.requests, "cpu", millicores);
  return pod;
}

kube::ObjectPtr Quota(const json& hard, const json& used, const json& spec = json::object()) {
  return std::make_shared<const json>(json{
      {"metadata", {{"name", "q"}}}, {"spec", spec}, {"status", {{"hard", hard}, {"used", used}}}});
}

TEST(CheckQuotasTest, PodsThatFitAreNotRefused) {
  const auto quota = Quota({{"requests.nvidia.com/gpu", "32"}, {"pods", "4"}, {"cpu", "8"}},
                           {{"requests.nvidia.com/gpu", "0"}, {"pods", "0"}, {"cpu", "4"}});
  EXPECT_TRUE(CheckQuotas({quota}, PodOf(8, 1'000), 4).ok());
  EXPECT_TRUE(CheckQuotas({}, PodOf(8), 4).ok());
}

TEST(CheckQuotasTest, AllPodsOfTheJobCountAndTheTextIsThatOfTheApiServer) {
  const auto quota = Quota({{"requests.nvidia.com/gpu", "32"}}, {{"requests.nvidia.com/gpu", "8"}});
  EXPECT_TRUE(CheckQuotas({quota}, PodOf(8), 3).ok());
  const absl::Status refused = CheckQuotas({quota}, PodOf(8), 4);
  EXPECT_TRUE(absl::IsPermissionDenied(refused));
  EXPECT_EQ(MessageOf(refused),
            "exceeded quota: q, requested: requests.nvidia.com/gpu=8, used: "
            "requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=32");
}

TEST(CheckQuotasTest, CoresAreCountedInThousandths) {
  const auto quota = Quota({{"requests.cpu", "2"}}, {{"requests.cpu", "500m"}});
  EXPECT_TRUE(CheckQuotas({quota}, PodOf(0, 500), 3).ok());
  EXPECT_FALSE(CheckQuotas({quota}, PodOf(0, 501), 3).ok());
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
  EXPECT_TRUE(CheckQuotas(quotas, PodOf(8), 4).ok());
}

}  // namespace
}  // namespace yardmaster::op
