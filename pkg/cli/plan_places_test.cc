// `plan --offline` over Nodes whose labels name places in an unusual way.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/cli/testing/offline_plan.h"
#include "pkg/cli/testing/small_fabric.h"

namespace yardmaster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Node(const std::string& name, const std::string& fabric_pod,
                 const std::string& segment) {
  return StrCat("---\napiVersion: v1\nkind: Node\nmetadata: {name: ", name,
                ", labels: {yardmaster.dev/fabric-pod: ", fabric_pod,
                ", yardmaster.dev/segment: ", segment,
                "}}\nstatus: {allocatable: {nvidia.com/gpu: \"8\"}, ",
                "conditions: [{type: Ready, status: \"True\"}]}\n");
}

TEST(PlanPlacesTest, ReasonsTellSegmentsOfOneNameApart) {
  const PlanAnswer answer = PlanOffline(
      Node("h0", "p0", "s0") + Node("h1", "p1", "s0") + Node("h2", "p1", "s0") +
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\n"
      "spec: {workers: 3, placement: {data: {within: Segment}}, template: {}}\n");
  EXPECT_EQ(answer.code, 0) << answer.err;
  const nlohmann::json job = answer.job("a");
  EXPECT_THAT(job["reasons"][0]["message"].get<std::string>(),
              HasSubstr("1 host short in segment p1/s0: "));
  EXPECT_EQ(job["relaxations"].back()["change"], "hosts: 1 more in segment p1/s0");
}

// 2 segments x 4 domains x 18 hosts of 4 GPUs.
std::string RacksOfNvl72() {
  std::string out;
  for (int i = 0; i < 2 * 4 * 18; ++i) {
    const std::string segment = StrCat("p0s", i / 72);
    std::string node = Node(StrCat("h", 100 + i), "p0", segment);
    const std::string labels = "labels: {";
    node.insert(node.find(labels) + labels.size(),
                StrCat("yardmaster.dev/domain: ", segment, "d", i % 72 / 18, ", "));
    const std::string gpus = "gpu: \"8\"";
    out += node.replace(node.find(gpus), gpus.size(), "gpu: \"4\"");
  }
  return out;
}

TEST(PlanPlacesTest, GroupsOfASecondJobStayInADomainThatIsFree) {
  std::ifstream file(YARDMASTER_SOURCE_DIR "/test/data/domains/fabric-and-two-jobs.yaml");
  const std::string given((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_FALSE(given.empty());
  const PlanAnswer answer = PlanOffline(given + RacksOfNvl72());
  ASSERT_EQ(answer.code, 0) << answer.err;
  for (const char* name : {"a", "b"}) {
    const nlohmann::json job = answer.job(name);
    ASSERT_EQ(job["outcome"], "Placed") << job;
    EXPECT_EQ(job["objective"]["tensorSplitDomains"], 0);
    EXPECT_EQ(job["objective"]["domains"], 1);
    EXPECT_FALSE(job.contains("warnings")) << job["warnings"];
    const nlohmann::json domain = job["assignments"][0]["domain"];
    EXPECT_TRUE(domain.is_string());
    for (const nlohmann::json& assignment : job["assignments"]) {
      EXPECT_EQ(assignment["domain"], domain);
    }
  }
  EXPECT_NE(answer.job("a")["assignments"][0]["domain"],
            answer.job("b")["assignments"][0]["domain"]);
}

// Of GPU model `model`.
std::string NodeWith(const std::string& name, const std::string& model) {
  std::string node = Node(name, "p0", "s0");
  const std::string at = "labels: {";
  node.insert(node.find(at) + at.size(), StrCat("nvidia.com/gpu.product: ", model, ", "));
  return node;
}

TEST(PlanPlacesTest, AGangThatNeedsTwoGpuModelsIsRefusedUnlessItSaysOtherwise) {
  const std::string nodes = NodeWith("h0", "NVIDIA-H100-80GB-HBM3") +
                            NodeWith("h1", "NVIDIA-H100-80GB-HBM3") +
                            NodeWith("h2", "NVIDIA-A100-SXM4-40GB");
  const auto job = [&](const std::string& spec) {
    return PlanOffline(StrCat(nodes,
                              "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\n",
                              "metadata: {name: a}\nspec: {template: {}, ", spec, "}\n"))
        .job("a");
  };
  const nlohmann::json refused = job("workers: 3");
  EXPECT_EQ(refused["outcome"], "Never");
  EXPECT_EQ(refused["reasons"][0]["code"], "GpuModelsDiffer");
  EXPECT_EQ(refused["relaxations"][0]["change"], "mixedGpuModels: true");
  EXPECT_EQ(job("workers: 3, mixedGpuModels: true")["outcome"], "Placed");
  EXPECT_EQ(job("workers: 2")["outcome"], "Placed");
  EXPECT_EQ(job("workers: 1, gpuModel: NVIDIA-A100-SXM4-40GB")["assignments"][0]["host"], "h2");
  EXPECT_EQ(job("workers: 1, gpuModel: H100")["reasons"][0]["message"],
            "no host has GPU model H100; here: NVIDIA-H100-80GB-HBM3 (2 hosts), "
            "NVIDIA-A100-SXM4-40GB (1 host)");
}

TEST(PlanPlacesTest, WithoutAFabricOneWarningSaysWhatTakesItsPlace) {
  const std::string job =
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\n"
      "spec: {workers: 1, template: {}}\n";
  const PlanAnswer without = PlanOffline(Node("h0", "p0", "s0") + job);
  EXPECT_EQ(without.code, 0);
  EXPECT_EQ(without.job("a")["outcome"], "Placed");
  EXPECT_THAT(without.err, StartsWith("warning: there is no Fabric in the input"));
  EXPECT_THAT(without.err, HasSubstr("kubectl yardmaster fabric render"));
  EXPECT_EQ(std::count(without.err.begin(), without.err.end(), '\n'), 1) << without.err;
  const PlanAnswer with = PlanOffline(StrCat(kSmallFabric, Node("h0", "p0", "s0"), job));
  EXPECT_EQ(with.job("a")["outcome"], "Placed");
  EXPECT_THAT(with.err, Not(HasSubstr("there is no Fabric")));
}

TEST(PlanPlacesTest, ASwitchThatTheFabricNamesAndDoesNotHaveIsSaid) {
  const std::string rest =
      Node("h0", "p0", "p0s0") +
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\n"
      "spec: {workers: 1, template: {}}\n";
  const PlanAnswer wrong =
      PlanOffline(StrCat(kSmallFabric, "  absentSwitches: [p0/agg-3, p0/agg-p1-9]\n", rest));
  EXPECT_EQ(wrong.job("a")["outcome"], "Placed");
  EXPECT_THAT(wrong.err,
              HasSubstr("spec.absentSwitches[0]: there is no switch p0/agg-3; use an id, for "
                        "example p0/p0s0/tor-r0-p0, and label the Nodes below the switch\n"));
  EXPECT_THAT(wrong.err,
              HasSubstr("spec.absentSwitches[1]: there is no switch p0/agg-p1-9; did you "
                        "mean p0/agg-p1-0?"));
  const PlanAnswer right =
      PlanOffline(StrCat(kSmallFabric, "  absentSwitches: [p0/agg-p0-3]\n", rest));
  EXPECT_THAT(right.err, Not(HasSubstr("absentSwitches")));
}

TEST(PlanPlacesTest, WithoutAFabricLabelsOfOthersSayWhereHostsStand) {
  std::string nodes;
  for (int i = 0; i < 4; ++i) {
    nodes += StrCat("---\napiVersion: v1\nkind: Node\nmetadata: {name: n", i,
                    ", labels: {topology.k8s.aws/network-node-layer-2: l2, ",
                    "topology.k8s.aws/network-node-layer-3: l3-", i / 2, "}}\n",
                    "status: {allocatable: {nvidia.com/gpu: \"8\"}}\n");
  }
  const PlanAnswer answer = PlanOffline(
      nodes +
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\n"
      "spec: {workers: 2, template: {}}\n");
  EXPECT_EQ(answer.code, 0) << answer.err;
  const nlohmann::json job = answer.job("a");
  EXPECT_EQ(job["objective"]["segments"], 1);
  EXPECT_EQ(job["assignments"][0]["fabricPod"], "l2");
  EXPECT_THAT(answer.err, HasSubstr("guessed from labels of EKS: segment by "
                                    "topology.k8s.aws/network-node-layer-3 (2)"));
  EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
}

TEST(PlanPlacesTest, NodesWithoutAnyLabelAreOneSegmentAndNodesWithoutAPlaceOneWarning) {
  const auto bare = [](int i) {
    return StrCat("---\napiVersion: v1\nkind: Node\nmetadata: {name: n", i,
                  "}\nstatus: {allocatable: {nvidia.com/gpu: \"8\"}}\n");
  };
  const std::string job =
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\n"
      "spec: {workers: 2, template: {}}\n";
  std::string nodes;
  for (int i = 100; i < 321; ++i) nodes += bare(i);
  const PlanAnswer all = PlanOffline(nodes + job);
  EXPECT_EQ(all.job("a")["assignments"][0]["segment"], "all");
  EXPECT_THAT(all.err, HasSubstr("no label states where hosts stand"));
  const PlanAnswer some = PlanOffline(nodes + Node("h0", "p0", "s0") + job);
  EXPECT_THAT(some.err, HasSubstr("warning: Nodes n[100-320]: metadata.labels"));
  EXPECT_EQ(std::count(some.err.begin(), some.err.end(), '\n'), 2) << some.err;
}

TEST(PlanPlacesTest, AnElasticJobThatDoesNotFitSaysAtWhichSizeItDoes) {
  std::string nodes;
  for (const char* name : {"h0", "h1", "h2", "h3", "h4"}) nodes += Node(name, "p0", "s0");
  const std::string elastic =
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\nspec: "
      "{workers: 8, parallelism: {tensor: 8}, elastic: {minData: 2, maxData: 8}, template: {}}\n";
  const nlohmann::json alone = PlanOffline(nodes + elastic).job("a");
  EXPECT_EQ(alone["outcome"], "Never");
  EXPECT_EQ(alone["elastic"]["data"], 5) << alone;
  EXPECT_EQ(alone["elastic"]["workers"], 5);
  // Beside what the plan places for others.
  std::string other = elastic;
  other.replace(other.find("name: a"), 7, "name: b");
  other.replace(other.find("workers: 8"), 10, "workers: 2");
  EXPECT_EQ(PlanOffline(nodes + elastic + other).job("a")["elastic"]["data"], 3);
  std::string large = elastic;
  large.replace(large.find("minData: 2"), 10, "minData: 6");
  EXPECT_FALSE(PlanOffline(nodes + large).job("a").contains("elastic"));
}

TEST(PlanPlacesTest, AGangThatLacksHostsForNewWorkersSaysSo) {
  const PlanAnswer answer = PlanOffline(
      Node("h0", "p0", "s0") +
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: Gang\nmetadata: {name: job-a}\n"
      "spec: {owner: {apiVersion: batch/v1, kind: Job, name: a, uid: u}, workers: 2, "
      "gpusPerWorker: 8}\n"
      "status: {planGeneration: 1, outcome: Placed, assignments: [{rank: 0, host: h0}]}\n");
  const nlohmann::json job = answer.job("a");
  EXPECT_EQ(job["outcome"], "Placed") << answer.err;
  EXPECT_EQ(job["assignments"].size(), 1u);
  EXPECT_EQ(job["wantedWorkers"], 2);
  EXPECT_EQ(job["message"], "only 1 of the 2 workers that its owner wants have a host");
}

}  // namespace
}  // namespace yardmaster::cli
