#include "pkg/operator/queue/workload_builder.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::op {
namespace {

using nlohmann::json;

json JobObject(const json& spec = json::object()) {
  json job = json::parse(R"({
    "apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "a", "namespace": "team", "uid": "0123456789",
                 "labels": {"kueue.x-k8s.io/queue-name": "research"}},
    "spec": {"workers": 4, "gpusPerWorker": 8, "gpuModel": "H100",
      "template": {
        "metadata": {"labels": {"l": "1"}},
        "spec": {
          "serviceAccountName": "trainer", "overhead": {"cpu": "1"},
          "nodeSelector": {"pool": "p"},
          "tolerations": [{"key": "t", "operator": "Exists"}],
          "resourceClaims": [{"name": "nic", "resourceClaimTemplateName": "rdma"}],
          "initContainers": [{"name": "i", "image": "i", "restartPolicy": "Always",
                              "resources": {"requests": {"cpu": "2"}}}],
          "containers": [{"name": "c", "image": "i", "command": ["secret"],
                          "env": [{"name": "TOKEN", "value": "secret"}],
                          "resources": {"requests": {"cpu": "4"},
                                        "claims": [{"name": "nic"}]}}]}}}})");
  job["spec"].merge_patch(spec);
  return job;
}

api::TrainingJob Job(const json& spec = json::object()) {
  auto job = api::DecodeTrainingJob(JsonView(JobObject(spec)));
  EXPECT_TRUE(job.ok()) << job.status();
  return *std::move(job);
}

TEST(WorkloadBuilderTest, TheWorkloadBelongsToTheJobAndHoldsItsQuota) {
  const json workload = BuildWorkload(Job(), "v1beta2", {});
  EXPECT_EQ(workload["apiVersion"], "kueue.x-k8s.io/v1beta2");
  EXPECT_EQ(workload["kind"], "Workload");
  const json& metadata = workload["metadata"];
  EXPECT_EQ(metadata["name"], "trainingjob-a-01234");
  EXPECT_EQ(metadata["namespace"], "team");
  EXPECT_EQ(metadata["labels"]["kueue.x-k8s.io/job-uid"], "0123456789");
  EXPECT_EQ(metadata["finalizers"], json({"kueue.x-k8s.io/resource-in-use"}));
  EXPECT_EQ(metadata["ownerReferences"][0]["kind"], "TrainingJob");
  EXPECT_EQ(metadata["ownerReferences"][0]["controller"], true);
  EXPECT_EQ(workload["spec"]["queueName"], "research");
}

TEST(WorkloadBuilderTest, APodSetHasWhatQuotaIsCountedByAndNoSecrets) {
  const json set = BuildWorkload(Job(), "v1beta2", {})["spec"]["podSets"][0];
  EXPECT_EQ(set["name"], "main");
  EXPECT_EQ(set["count"], 4);
  EXPECT_FALSE(set.contains("topologyRequest")) << "Yardmaster places it";
  const json& spec = set["template"]["spec"];
  EXPECT_EQ(spec["containers"][0]["resources"]["requests"]["cpu"], "4");
  EXPECT_EQ(spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], "8");
  EXPECT_FALSE(spec["containers"][0]["resources"].contains("claims"));
  EXPECT_EQ(spec["initContainers"][0]["restartPolicy"], "Always");
  EXPECT_EQ(spec["initContainers"][0]["resources"]["requests"]["cpu"], "2");
  EXPECT_EQ(spec["nodeSelector"], json({{"pool", "p"}, {"nvidia.com/gpu.product", "H100"}}));
  EXPECT_EQ(spec["tolerations"][0]["key"], "t");
  EXPECT_EQ(spec["overhead"]["cpu"], "1");
  EXPECT_FALSE(spec.contains("resourceClaims")) << "GPUs would be counted twice";
  EXPECT_EQ(set.dump().find("secret"), std::string::npos);
  EXPECT_EQ(set.dump().find("trainer"), std::string::npos);
}

TEST(WorkloadBuilderTest, PrioritiesAreWrittenAsEachVersionHasThem) {
  const json v2 = BuildWorkload(Job(), "v1beta2", {100, "gold", true})["spec"];
  EXPECT_EQ(v2["priority"], 100);
  EXPECT_EQ(
      v2["priorityClassRef"],
      json({{"group", "kueue.x-k8s.io"}, {"kind", "WorkloadPriorityClass"}, {"name", "gold"}}));
  const json v1 = BuildWorkload(Job(), "v1beta1", {5, "high", false})["spec"];
  EXPECT_EQ(v1["priorityClassName"], "high");
  EXPECT_EQ(v1["priorityClassSource"], "scheduling.k8s.io/priorityclass");
  EXPECT_FALSE(v1.contains("priorityClassRef"));
  EXPECT_FALSE(
      BuildWorkload(Job(), "v1beta2", {5, "", false})["spec"].contains("priorityClassRef"));
}

TEST(WorkloadBuilderTest, EveryRoleIsAPodSetOfItsOwn) {
  const json pod = {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}};
  const api::TrainingJob job =
      Job({{"roles", json::array({{{"name", "data"}, {"replicas", 2}, {"template", pod}},
                                  {{"name", "main"}, {"template", pod}}})}});
  const auto sets = PodSetsOf(job);
  ASSERT_EQ(sets.size(), 3u);
  EXPECT_EQ(sets[1], (api::QueuedPodSet{"data", 2}));
  EXPECT_EQ(sets[2].name, "main-role");
  const json role = BuildWorkload(job, "v1beta2", {})["spec"]["podSets"][1];
  EXPECT_FALSE(role["template"]["spec"]["containers"][0].contains("resources"));
}

TEST(WorkloadBuilderTest, AnElasticJobAsksForItsWishAndNamesItsSmallestSize) {
  const json elastic = {{"elastic", {{"minData", 8}, {"maxData", 32}}}};
  const auto sets = PodSetsOf(Job(elastic));
  EXPECT_EQ(sets[0].count, 4);
  EXPECT_EQ(sets[0].min_count, 1);
  // The size that it has meanwhile does not matter.
  json smaller = JobObject(elastic);
  smaller["status"]["elastic"]["data"] = 16;
  auto job = api::DecodeTrainingJob(JsonView(smaller));
  ASSERT_TRUE(job.ok());
  ASSERT_EQ(job->job.workers, 2);
  EXPECT_EQ(PodSetsOf(*job)[0].count, 4);
  EXPECT_EQ(PodSetsHash(*job), PodSetsHash(Job(elastic)));
}

TEST(WorkloadBuilderTest, TheHashChangesWithWhatIsAskedForAlone) {
  const std::string hash = PodSetsHash(Job());
  // A version that counts otherwise would stop every job in a queue at an upgrade.
  EXPECT_EQ(hash, "7f98a5f44d");
  EXPECT_EQ(PodSetsHash(Job({{"priority", 5}, {"checkpoint", {{"graceSeconds", 5}}}})), hash);
  json image = JobObject();
  image["spec"]["template"]["spec"]["containers"][0]["image"] = "newer";
  EXPECT_EQ(PodSetsHash(*api::DecodeTrainingJob(JsonView(image))), hash);
  EXPECT_NE(PodSetsHash(Job({{"workers", 5}})), hash);
  EXPECT_NE(PodSetsHash(Job({{"gpusPerWorker", 4}})), hash);
}

}  // namespace
}  // namespace yardmaster::op
