// A test fixture: a cluster of two segments with two hosts each, and jobs on it. For tests only.
//
// Thread safety: one thread.
#pragma once

#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/cli/input/cluster_reader.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::cli {

class OverviewFixture : public ::testing::Test {
 protected:
  using json = nlohmann::json;

  // The reason of JobPod("w", 0) alone.
  static constexpr char kOneOfTwo[] =
      "1 of 2 pods are there, rank 1 is missing; Job w makes them; kubectl describe job w -n "
      "default "
      "says why it has not";

  OverviewFixture() : client_(clock_) {
    for (int i = 0; i < 4; ++i) {
      client_.Seed(kube::Nodes(), {{"apiVersion", "v1"},
                                   {"kind", "Node"},
                                   {"metadata",
                                    {{"name", StrCat("n", i)},
                                     {"labels",
                                      {{"yardmaster.dev/fabric-pod", "p0"},
                                       {"yardmaster.dev/segment", i < 2 ? "s0" : "s1"}}}}},
                                   {"status", {{"allocatable", {{"nvidia.com/gpu", "8"}}}}}});
    }
  }

  void Job(const std::string& name, json spec) {
    client_.Seed(kube::TrainingJobs(), {{"apiVersion", "yardmaster.dev/v1alpha1"},
                                        {"kind", "TrainingJob"},
                                        {"metadata", {{"name", name}, {"namespace", "default"}}},
                                        {"spec", std::move(spec)}});
  }

  // Adds a gated pod of an Indexed Job of two.
  void JobPod(const std::string& job, int index) {
    client_.Seed(kube::Pods(),
                 {{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata",
                   {{"name", StrCat(job, "-", index)},
                    {"namespace", "default"},
                    {"uid", StrCat("uid-", job, "-", index)},
                    {"annotations", {{"yardmaster.dev/parallelism", "tp=8,dp=2"}}},
                    {"labels",
                     {{"batch.kubernetes.io/job-name", job},
                      {"batch.kubernetes.io/job-completion-index", StrCat(index)}}},
                    {"ownerReferences", json::array({{{"apiVersion", "batch/v1"},
                                                      {"kind", "Job"},
                                                      {"name", job},
                                                      {"uid", "uid-" + job},
                                                      {"controller", true}}})}}},
                  {"spec",
                   {{"schedulingGates", json::array({{{"name", "yardmaster.dev/placement"}}})},
                    {"containers",
                     json::array({{{"name", "c"},
                                   {"resources", {{"limits", {{"nvidia.com/gpu", "8"}}}}}}})}}}});
  }

  // Adds a gang on n0 and n1 whose owner wants `wanted` workers.
  void Placed(const std::string& name, int wanted = 2) {
    api::Gang gang;
    gang.metadata.name = "trainingjob-" + name;
    gang.metadata.namespace_name = "default";
    gang.owner = {"yardmaster.dev/v1alpha1", "TrainingJob", name, "", false};
    gang.job.workers = wanted;
    gang.job.parallelism.data = 8 * wanted;
    gang.status.plan_generation = 1;
    gang.status.fabric = "f";
    gang.status.assignments = {{0, "n0", "p0", "s0", {0}}, {1, "n1", "p0", "s0", {0}}};
    gang.status.network = api::NetworkStatus{};
    gang.status.network->level = 6;
    client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  }

  state::ClusterState ClusterState() {
    auto cluster = ReadCluster(client_);
    EXPECT_TRUE(cluster.ok()) << cluster.status();
    return cluster.ok() ? *cluster : state::ClusterState{};
  }

  FakeClock clock_;
  kube::FakeClient client_;
};

}  // namespace yardmaster::cli
