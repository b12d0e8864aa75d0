#include "pkg/operator/jobs/job_hold.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

// Of a job with `more` over one that is not held.
StallReason HoldOf(const char* more) {
  json job = json::parse(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob",
      "metadata": {"name": "a", "namespace": "team"},
      "spec": {"workers": 2, "gpusPerWorker": 8, "template": {"spec": {"containers": [
          {"name": "c", "image": "i"}]}}}})");
  job.merge_patch(json::parse(more));
  const auto decoded = api::DecodeTrainingJob(job, api::UnknownFields::kIgnore);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded.ok() ? HoldReason(*decoded) : StallReason{};
}

TEST(JobHoldTest, AnOrdinaryJobIsNotHeld) {
  EXPECT_FALSE(HoldOf("{}").exists());
  EXPECT_FALSE(
      HoldOf(R"({"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "p"}}})").exists());
}

TEST(JobHoldTest, AQueueIsNamedWithTheFieldThatNamesIt) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "research"}}})",
       "metadata.labels[\"kueue.x-k8s.io/queue-name\"]: names Kueue's queue research"},
      {R"({"spec": {"template": {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}}}})",
       "spec.template.metadata.labels[\"kueue.x-k8s.io/queue-name\"]: names Kueue's queue q"},
      {R"({"spec": {"roles": [{"name": "data", "template": {
           "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}},
           "spec": {"containers": [{"name": "c", "image": "i"}]}}}]}})",
       "spec.roles[0].template.metadata.labels[\"kueue.x-k8s.io/queue-name\"]: names"}};
  for (const auto& [more, message] : cases) {
    const StallReason hold = HoldOf(more);
    EXPECT_EQ(hold.reason, kQueueNotSupported) << more;
    EXPECT_TRUE(hold.message.starts_with(message)) << hold.message;
  }
}

TEST(JobHoldTest, AJobThatKueueHasAdmittedIsNotHeld) {
  for (const char* admitted : {R"("labels": {"kueue.x-k8s.io/podset": "main"})",
                               R"("annotations": {"kueue.x-k8s.io/workload": "w"})"}) {
    json more = json::parse(R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}})");
    more["spec"]["template"]["metadata"] = json::parse("{" + std::string(admitted) + "}");
    EXPECT_FALSE(HoldOf(more.dump().c_str()).exists()) << admitted;
  }
}

TEST(JobHoldTest, GpusByClaimsHoldAJobAndOtherClaimsDoNot) {
  const StallReason hold = HoldOf(R"({"spec": {"template": {"spec": {
      "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "eight"}],
      "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}]}}]}}}})");
  EXPECT_EQ(hold.reason, kClaimsNotSupported);
  EXPECT_TRUE(hold.message.starts_with("spec.template.spec.resourceClaims: ")) << hold.message;
  EXPECT_FALSE(HoldOf(R"({"spec": {"template": {"spec": {
      "resourceClaims": [{"name": "nic", "resourceClaimTemplateName": "rdma"}],
      "containers": [{"name": "c", "image": "i", "resources": {
          "claims": [{"name": "nic"}], "limits": {"nvidia.com/gpu": 8}}}]}}}})")
                   .exists());
}

}  // namespace
}  // namespace yardmaster::op
