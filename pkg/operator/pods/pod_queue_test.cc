#include "pkg/operator/pods/pod_queue.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

json JobObject(const char* phase) {
  const json pod = {{"metadata", {{"labels", {{"l", "own"}}}}},
                    {"spec",
                     {{"nodeSelector", {{"disk", "fast"}, {"gpu", "any"}}},
                      {"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}};
  const json admitted = {{"name", "main"},
                         {"count", 2},
                         {"nodeSelector", {{"gpu", "h100"}}},
                         {"tolerations", json::array({{{"key", "t"}, {"operator", "Exists"}}})},
                         {"labels", {{"l", "admitted"}, {"m", "1"}}},
                         {"annotations", {{"a", "2"}}}};
  const json of_role = {{"name", "data"}, {"count", 1}, {"nodeSelector", {{"gpu", "none"}}}};
  return {
      {"apiVersion", "yardmaster.dev/v1alpha1"},
      {"kind", "TrainingJob"},
      {"metadata", {{"name", "a"}, {"namespace", "team"}, {"uid", "job"}}},
      {"spec",
       {{"workers", 2},
        {"gpusPerWorker", 8},
        {"roles", json::array({{{"name", "data"}, {"template", pod}}})},
        {"template", pod}}},
      {"status", {{"queue", {{"phase", phase}, {"podSets", json::array({admitted, of_role})}}}}}};
}

api::TrainingJob Job(const char* phase) {
  auto job = api::DecodeTrainingJob(JsonView(JobObject(phase)), api::UnknownFields::kIgnore);
  EXPECT_TRUE(job.ok()) << job.status();
  return *std::move(job);
}

TEST(PodQueueTest, PodsOfAnAdmittedJobGoToItsFlavorsAndKeepTheirOwn) {
  const api::TrainingJob job = Job("Admitted");
  const json pod = BuildPod(job, {job.job.workers, 8, "nvidia.com/gpu"}, 0);
  EXPECT_EQ(pod["spec"]["nodeSelector"], json({{"disk", "fast"}, {"gpu", "h100"}}));
  EXPECT_EQ(pod["spec"]["tolerations"][0]["key"], "t");
  EXPECT_EQ(pod["metadata"]["labels"]["l"], "own");
  EXPECT_EQ(pod["metadata"]["labels"]["m"], "1");
  EXPECT_EQ(pod["metadata"]["annotations"]["a"], "2");
  const json role = BuildRolePod(job, {job.job.workers, 8, "nvidia.com/gpu"}, 2);
  EXPECT_EQ(role["spec"]["nodeSelector"], json({{"disk", "fast"}, {"gpu", "none"}}));
  EXPECT_FALSE(role["spec"].contains("tolerations"));
}

TEST(PodQueueTest, PlacementCountsTheNodesOfTheFlavorsAlone) {
  const api::TrainingJob job = Job("Admitted");
  EXPECT_EQ(job.constraints.node_selector.at("gpu"), "h100");
  EXPECT_EQ(job.constraints.node_selector.at("disk"), "fast");
  ASSERT_EQ(job.constraints.tolerations.size(), 1u);
  EXPECT_EQ(job.own_constraints.node_selector.at("gpu"), "h100") << "rented hosts are of them, too";
}

TEST(PodQueueTest, AJobThatIsNotAdmittedGetsNothing) {
  for (const char* phase : {"None", "Pending", "Evicted"}) {
    const api::TrainingJob job = Job(phase);
    const json pod = BuildPod(job, {job.job.workers, 8, "nvidia.com/gpu"}, 0);
    EXPECT_EQ(pod["spec"]["nodeSelector"]["gpu"], "any") << phase;
    EXPECT_EQ(job.constraints.node_selector.at("gpu"), "any") << phase;
  }
}

}  // namespace
}  // namespace yardmaster::op
