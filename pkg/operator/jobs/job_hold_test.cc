#include "pkg/operator/jobs/job_hold.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

// With `more` over one that is not held.
api::TrainingJob JobWith(const char* more) {
  json job = json::parse(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob",
      "metadata": {"name": "a", "namespace": "team"},
      "spec": {"workers": 2, "gpusPerWorker": 8, "template": {"spec": {"containers": [
          {"name": "c", "image": "i"}]}}}})");
  job.merge_patch(json::parse(more));
  const auto decoded = api::DecodeTrainingJob(job, api::UnknownFields::kIgnore);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded.ok() ? *decoded : api::TrainingJob{};
}

StallReason HoldOf(const char* more) { return HoldReason(JobWith(more), /*was_placed=*/false); }

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
    EXPECT_EQ(hold.reason, message[0] == 'm' ? kQueueUnavailable : kQueueNotSupported) << more;
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

TEST(JobHoldTest, AJobThatHadAPlaceOrHasRunIsNotHeld) {
  const char* const queue = R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}})";
  api::TrainingJob job = JobWith(queue);
  EXPECT_FALSE(HoldReason(job, /*was_placed=*/true).exists());
  job.status.recovery.attempt = job.status.recovery.min_attempt = 1;
  EXPECT_TRUE(HoldReason(job, false).exists()) << "it was suspended before it had pods";
  job.status.recovery.running_attempt = 0;
  EXPECT_FALSE(HoldReason(job, false).exists());
  job.status.recovery.running_attempt = -1;
  job.status.recovery.incidents.emplace_back();
  EXPECT_FALSE(HoldReason(job, false).exists()) << "a pod failed before all ran";
}

TEST(JobHoldTest, AJobWithClaimsIsNotHeldAndItsPodsAskForItsGpusUnlessTheClaimsDo) {
  const char* const claims = R"({"spec": {"template": {"spec": {
      "resourceClaims": [{"name": "nic", "resourceClaimTemplateName": "rdma"}],
      "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "nic"}]}}]}}}})";
  EXPECT_FALSE(HoldOf(claims).exists());
  const api::TrainingJob job = JobWith(claims);
  WorkerShape shape{job.job.workers, job.job.gpus_per_worker, job.job.gpu_resource};
  const json pod = BuildPod(job, shape, 0);
  const json& resources = pod["spec"]["containers"][0]["resources"];
  EXPECT_EQ(resources["limits"]["nvidia.com/gpu"], "8");
  EXPECT_EQ(resources["claims"][0]["name"], "nic");
  EXPECT_EQ(pod["spec"]["resourceClaims"].size(), 1u);
  shape.claims_gpus = true;
  EXPECT_FALSE(BuildPod(job, shape, 0)["spec"]["containers"][0]["resources"].contains("limits"));
}

}  // namespace
}  // namespace yardmaster::op
