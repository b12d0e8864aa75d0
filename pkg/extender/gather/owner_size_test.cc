#include "pkg/extender/gather/owner_size.h"

#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace yardmaster::extender {
namespace {

using nlohmann::json;
using Pods = std::map<std::string, int>;

std::optional<Pods> PodsOf(const std::string& api_version, const std::string& kind, json spec) {
  return PodsBySubgroup({api_version, kind, "x", "", true}, {{"spec", std::move(spec)}});
}

TEST(OwnerSizeTest, AnIndexedJobThatRunsAllItsIndexesAtOnceSaysItsSize) {
  EXPECT_EQ(PodsOf("batch/v1", "Job", {{"completions", 5}, {"parallelism", 5}}), (Pods{{"", 5}}));
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
  EXPECT_EQ(PodsOf("jobset.x-k8s.io/v1alpha2", "JobSet", spec),
            (Pods{{"0", 1}, {"1", 4}, {"2", 4}}));
}

TEST(OwnerSizeTest, ReplicaTypesTasksAndMpiWorkersAreRead) {
  EXPECT_EQ(PodsOf("kubeflow.org/v1", "PyTorchJob",
                   {{"pytorchReplicaSpecs",
                     {{"Master", json::object()}, {"Worker", {{"replicas", 3}}}}}}),
            (Pods{{"master", 1}, {"worker", 3}}));
  EXPECT_EQ(PodsOf("batch.volcano.sh/v1alpha1", "Job",
                   {{"tasks", json::array({{{"name", "worker"}, {"replicas", 4}}})}}),
            (Pods{{"worker", 4}}));
  EXPECT_EQ(
      PodsOf("kubeflow.org/v2beta1", "MPIJob",
             {{"mpiReplicaSpecs", {{"Worker", {{"replicas", 4}}}}}, {"runLauncherAsWorker", true}}),
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
  const auto grown = ResizedTo(bases, 4, {}, {{"master", 1}, {"worker", 6}});
  ASSERT_TRUE(grown.ok());
  EXPECT_EQ(grown->workers, 7);
  EXPECT_EQ(grown->rank_bases, bases);
  EXPECT_EQ(ResizedTo(bases, 4, {}, {{"master", 1}, {"worker", 2}})->workers, 3);
}

TEST(OwnerSizeTest, ASizeThatWouldRenumberRanksIsRefused) {
  const std::vector<api::RankBase> bases = {{"1", 0}, {"2", 4}};
  EXPECT_FALSE(ResizedTo(bases, 8, {}, {{"1", 5}, {"2", 5}}).ok());
  EXPECT_FALSE(ResizedTo(bases, 8, {"0"}, {{"0", 1}, {"1", 4}, {"2", 4}}).ok());
  const auto more = ResizedTo(bases, 8, {"3"}, {{"1", 4}, {"2", 4}, {"3", 4}});
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->workers, 12);
}

}  // namespace
}  // namespace yardmaster::extender
