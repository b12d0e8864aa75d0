#include "pkg/gather/owner_size.h"

#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

#include "pkg/base/testing/heap_meter.h"

namespace yardmaster::gather {
namespace {

using nlohmann::json;
using Pods = std::map<std::string, int>;

std::optional<OwnerSize> SizeOfSpec(const std::string& api_version, const std::string& kind,
                                    json spec) {
  const json object = {{"spec", std::move(spec)}};
  return SizeOf({api_version, kind, "x", "", true}, object);
}

// The pods of those subgroups, where no others are there.
std::optional<Pods> PodsOf(const std::string& api_version, const std::string& kind, json spec,
                           const std::vector<std::string>& subgroups = {}) {
  const auto size = SizeOfSpec(api_version, kind, std::move(spec));
  if (!size) return std::nullopt;
  Pods pods;
  int all = 0;
  for (const std::string& subgroup : subgroups) all += pods[subgroup] = size->PodsIn(subgroup);
  EXPECT_EQ(size->pods(), all);
  return pods;
}

OwnerSize Sized(const Pods& pods) {
  OwnerSize size;
  for (const auto& [subgroup, count] : pods) size.Set(subgroup, count);
  return size;
}

TEST(OwnerSizeTest, AnIndexedJobThatRunsAllItsIndexesAtOnceSaysItsSize) {
  EXPECT_EQ(PodsOf("batch/v1", "Job", {{"completions", 5}, {"parallelism", 5}}, {""}),
            (Pods{{"", 5}}));
  EXPECT_EQ(PodsOf("batch/v1", "Job", {{"completions", 5}, {"parallelism", 3}}), std::nullopt);
  EXPECT_EQ(PodsOf("batch/v1", "Job", {{"parallelism", 3}}), std::nullopt);
}

TEST(OwnerSizeTest, EveryJobOfAJobSetIsASubgroup) {
  const auto job = [](int size) {
    return json{{"spec", {{"completions", size}, {"parallelism", size}}}};
  };
  const json spec = {{"replicatedJobs",
                      json::array({{{"name", "driver"}, {"replicas", 1}, {"template", job(1)}},
                                   {{"name", "workers"}, {"replicas", 2}, {"template", job(4)}}})}};
  EXPECT_EQ(
      PodsOf("jobset.x-k8s.io/v1alpha2", "JobSet", spec, {"0", "1", "2", "3", "-1", "01", ""}),
      (Pods{{"0", 1}, {"1", 4}, {"2", 4}, {"3", 0}, {"-1", 0}, {"01", 0}, {"", 0}}));
}

json PodWithGpus(int gpus) {
  json container = {{"name", "c"}, {"resources", {{"limits", {{"cpu", "1"}}}}}};
  if (gpus > 0) container["resources"]["limits"]["nvidia.com/gpu"] = std::to_string(gpus);
  return {{"metadata", {{"annotations", {{"yardmaster.dev/parallelism", "tp=8"}}}}},
          {"spec", {{"containers", json::array({container})}}}};
}

TEST(OwnerSizeTest, PodsOfAJobSetThatAskForNoGpuDoNotCount) {
  const auto job = [](json spec, int gpus) {
    spec["template"] = PodWithGpus(gpus);
    return json{{"template", {{"spec", std::move(spec)}}}};
  };
  const json spec = {
      {"replicatedJobs", json::array({job({{"backoffLimit", 3}}, 0),
                                      job({{"completions", 4}, {"parallelism", 4}}, 8)})}};
  EXPECT_EQ(PodsOf("jobset.x-k8s.io/v1alpha2", "JobSet", spec, {"0", "1"}),
            (Pods{{"0", 0}, {"1", 4}}));
}

TEST(OwnerSizeTest, ARayClusterHasTheWorkersThatKubeRayMakesAndItsHeadIfItAsksForGpus) {
  const auto group = [](json fields, int gpus) {
    fields["template"] = PodWithGpus(gpus);
    return fields;
  };
  json spec = {{"headGroupSpec", {{"template", PodWithGpus(0)}}},
               {"workerGroupSpecs", json::array({group({{"replicas", 2}, {"numOfHosts", 2}}, 8),
                                                 group({{"replicas", 9}, {"maxReplicas", 3}}, 8),
                                                 group({{"replicas", 0}, {"minReplicas", 1}}, 4),
                                                 group({{"replicas", 5}, {"suspend", true}}, 8),
                                                 group({{"replicas", 7}}, 0)})}};
  EXPECT_EQ(PodsOf("ray.io/v1", "RayCluster", spec, {""}), (Pods{{"", 8}}));
  spec["headGroupSpec"]["template"] = PodWithGpus(8);
  EXPECT_EQ(PodsOf("ray.io/v1", "RayCluster", spec, {""}), (Pods{{"", 9}}));
  spec["workerGroupSpecs"][0]["template"].erase("metadata");
  EXPECT_EQ(PodsOf("ray.io/v1", "RayCluster", spec, {""}), (Pods{{"", 5}}))
      << "a group without the annotation is in no gang";
  spec["workerGroupSpecs"][1]["replicas"] = "many";
  EXPECT_EQ(PodsOf("ray.io/v1", "RayCluster", spec), std::nullopt);
}

TEST(OwnerSizeTest, ReplicaTypesTasksAndMpiWorkersAreRead) {
  EXPECT_EQ(
      PodsOf("kubeflow.org/v1", "PyTorchJob",
             {{"pytorchReplicaSpecs", {{"Master", json::object()}, {"Worker", {{"replicas", 3}}}}}},
             {"master", "worker"}),
      (Pods{{"master", 1}, {"worker", 3}}));
  EXPECT_EQ(PodsOf("batch.volcano.sh/v1alpha1", "Job",
                   {{"tasks", json::array({{{"name", "worker"}, {"replicas", 4}}})}}, {"worker"}),
            (Pods{{"worker", 4}}));
  EXPECT_EQ(
      PodsOf("kubeflow.org/v2beta1", "MPIJob",
             {{"mpiReplicaSpecs", {{"Worker", {{"replicas", 4}}}}}, {"runLauncherAsWorker", true}},
             {""}),
      (Pods{{"", 5}}));
}

TEST(OwnerSizeTest, ObjectsOfAnyShapeSayNothing) {
  for (const json& spec :
       {json(), json("x"), json::array({1}), json{{"replicatedJobs", 1}, {"tasks", "x"}},
        json{{"pytorchReplicaSpecs", {{"Worker", {{"replicas", "many"}}}}}, {"completions", -1}},
        json{{"tasks", json::array({1, "x"})}, {"replicatedJobs", json::array({nullptr})}}}) {
    for (const auto& [group, kind] :
         {std::pair("batch/v1", "Job"), std::pair("jobset.x-k8s.io/v1alpha2", "JobSet"),
          std::pair("kubeflow.org/v1", "PyTorchJob"), std::pair("kubeflow.org/v2beta1", "MPIJob"),
          std::pair("batch.volcano.sh/v1alpha1", "Job"), std::pair("other/v1", "Thing")}) {
      EXPECT_EQ(PodsOf(group, kind, spec), std::nullopt) << kind << spec;
    }
  }
}

TEST(OwnerSizeTest, TheLastSubgroupGrowsAndShrinksWithoutRenumbering) {
  const std::vector<api::RankBase> bases = {{"master", 0}, {"worker", 1}};
  const auto grown = ResizedTo(bases, 4, {}, Sized({{"master", 1}, {"worker", 6}}));
  ASSERT_TRUE(grown.ok());
  EXPECT_EQ(grown->workers, 7);
  EXPECT_EQ(grown->rank_bases, bases);
  EXPECT_EQ(ResizedTo(bases, 4, {}, Sized({{"master", 1}, {"worker", 2}}))->workers, 3);
}

TEST(OwnerSizeTest, ASizeThatWouldRenumberRanksIsRefused) {
  const std::vector<api::RankBase> bases = {{"1", 0}, {"2", 4}};
  EXPECT_FALSE(ResizedTo(bases, 8, {}, Sized({{"1", 5}, {"2", 5}})).ok());
  EXPECT_FALSE(ResizedTo(bases, 8, {"0"}, Sized({{"0", 1}, {"1", 4}, {"2", 4}})).ok());
  const auto more = ResizedTo(bases, 8, {"3"}, Sized({{"1", 4}, {"2", 4}, {"3", 4}}));
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->workers, 12);
}

// A JobSet of 58 KB, as a tenant may write it.
TEST(OwnerSizeTest, WhatIsKeptIsBoundedByTheTextAndNotByTheNumbersInIt) {
  json jobs = json::array();
  for (int i = 0; i < 600; ++i) {
    jobs.push_back({{"replicas", 16'384},
                    {"template", {{"spec", {{"completions", 16'384}, {"parallelism", 16'384}}}}}});
  }
  const json object = {{"spec", {{"replicatedJobs", jobs}}}};
  const HeapMeter heap;
  const auto size = SizeOf({"jobset.x-k8s.io/v1alpha2", "JobSet", "x", "", true}, object);
  ASSERT_TRUE(size.has_value());
  EXPECT_LE(heap.peak(), 64 << 10);
  EXPECT_EQ(size->pods(), std::int64_t{600} * 16'384 * 16'384);
  EXPECT_EQ(size->PodsIn("9830399"), 16'384);
  EXPECT_EQ(size->PodsIn("9830400"), 0);
  EXPECT_FALSE(ResizedTo({{"0", 0}}, 16'384, {"1"}, *size).ok());
}

TEST(OwnerSizeTest, AsManySubgroupsAsAGangCanHaveAreResizedAtOnce) {
  std::vector<api::RankBase> bases;
  for (int i = 0; i < 16'000; ++i) bases.push_back({std::to_string(i), i});
  OwnerSize size;
  size.Append(16'384, 1);
  const auto resized = ResizedTo(bases, 16'000, {"16000"}, size);
  ASSERT_TRUE(resized.ok()) << resized.status();
  EXPECT_EQ(resized->workers, 16'001);
}

}  // namespace
}  // namespace yardmaster::gather
