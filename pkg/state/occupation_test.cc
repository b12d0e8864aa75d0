#include "pkg/state/occupation.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::state {
namespace {

using nlohmann::json;

// Four hosts of one segment, a0 .. a3, each with 8 GPUs and 64 CPUs.
class OccupationTest : public testing::Test {
 protected:
  explicit OccupationTest(const std::string& gpus = api::kGpuResource) {
    api::Fabric fabric;
    fabric.metadata.name = "f";
    fabric.spec = fabric::SmallHpn(1, 1, 4);
    fabric.spec.gpu_resource = gpus;
    cluster_.fabrics.Put(std::make_shared<const api::Fabric>(fabric));
    for (int i = 0; i < 4; ++i) {
      api::Node node;
      node.metadata.name = StrCat("a", i);
      node.metadata.labels = {{api::kFabricPodLabel, "p"}, {api::kSegmentLabel, "a"}};
      node.ready = true;
      workload::SetAmount(node.allocatable, gpus, 8);
      workload::SetAmount(node.allocatable, "cpu", 64'000);
      cluster_.nodes.Put(std::make_shared<const api::Node>(node));
    }
  }

  void AddPod(const std::string& name, const json& requests, const json& labels = json::object()) {
    const json pod = {
        {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", name}, {"labels", labels}}},
        {"spec",
         {{"nodeName", "a0"},
          {"containers", json::array({{{"name", "c"}, {"resources", {{"requests", requests}}}}})}}},
        {"status", {{"phase", "Running"}}}};
    cluster_.pods.Put(
        std::make_shared<const api::Pod>(*api::DecodePod(pod, api::Decoding::kLenient)));
  }
  static const placement::HostState& State(const plan::Snapshot& s, const char* host) {
    return s.cluster.hosts[s.places->FindHost(host).index()];
  }

  ClusterState cluster_;
};

TEST_F(OccupationTest, OrdinaryPodsWithGpusAreNamedByHost) {
  SnapshotBuilder builder;
  AddPod("web-1", {{api::kGpuResource, "2"}});
  AddPod("web-0", {{api::kGpuResource, "1"}});
  AddPod("log", {{"cpu", "1"}});
  const plan::Snapshot with = builder.Build(cluster_);
  const fabric::HostId host = with.places->FindHost("a0");
  const auto& pods = with.ordinary_pods[host.index()];
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(*pods, (std::vector<plan::OrdinaryPod>{{"team/web-0", 0, 1}, {"team/web-1", 0, 2}}));
  EXPECT_EQ(with.ordinary_pods[with.places->FindHost("a1").index()], nullptr);
  cluster_.pods.Erase({"team", "web-0"});
  cluster_.pods.Erase({"team", "web-1"});
  EXPECT_EQ(builder.Build(cluster_).ordinary_pods[host.index()], nullptr);
}

TEST_F(OccupationTest, AnyNumberOfAbsurdRequestsLeavesNothingFreeOnTheirHostAndChangesNoOther) {
  // A job that asks for CPUs, so that hosts have a column for them.
  const json job = {
      {"metadata", {{"name", "j"}, {"namespace", "team"}, {"uid", "j"}}},
      {"spec",
       {{"workers", 1},
        {"gpusPerWorker", 8},
        {"parallelism", {{"tensor", 8}}},
        {"template",
         {{"spec",
           {{"containers",
             json::array({{{"name", "c"}, {"resources", {{"requests", {{"cpu", "8"}}}}}}})}}}}}}}};
  cluster_.jobs.Put(std::make_shared<const api::TrainingJob>(*api::DecodeTrainingJob(job)));
  // 2,048 times the largest quantity that is read, 2^53, is 0 in 64 bits.
  for (int i = 0; i < 2'048; ++i) {
    AddPod(StrCat("pod-", i), {{api::kGpuResource, "4611686018427387904"}, {"cpu", "4E"}});
  }
  const plan::Snapshot s = BuildSnapshot(cluster_);
  EXPECT_EQ(State(s, "a0").free_gpus, 0);
  EXPECT_EQ(State(s, "a1").free_gpus, 8);
  ASSERT_EQ(s.cluster.resources.columns(), 2u) << "cpu and pods";
  const auto cpu = [&](const char* host) {
    return s.cluster.resources.free[s.places->FindHost(host).index() * 2];
  };
  EXPECT_LT(cpu("a0"), 0);
  EXPECT_EQ(cpu("a1"), 64'000);
}

// A Gang that people write into a file need not say where the ranks of subgroups begin.
TEST_F(OccupationTest, APodOfAGangWithoutRankBasesHoldsWhatItsRankWasPromised) {
  const json gang = {
      {"metadata", {{"name", "trainingjob-j"}, {"namespace", "team"}, {"uid", "g"}}},
      {"spec",
       {{"owner",
         {{"apiVersion", "yardmaster.dev/v1alpha1"}, {"kind", "TrainingJob"}, {"name", "j"}}},
        {"workers", 2},
        {"gpusPerWorker", 2}}},
      {"status",
       {{"planGeneration", 1},
        {"assignments",
         json::array({{{"rank", 0}, {"host", "a0"}}, {{"rank", 1}, {"host", "a0"}}})}}}};
  cluster_.gangs.Put(
      std::make_shared<const api::Gang>(*api::DecodeGang(gang, api::Decoding::kLenient)));
  for (const char* rank : {"0", "1"}) {
    AddPod(StrCat("j-", rank), {{api::kGpuResource, "2"}},
           {{"yardmaster.dev/job", "j"}, {"yardmaster.dev/rank", rank}});
  }
  const plan::Snapshot s = BuildSnapshot(cluster_);
  EXPECT_EQ(State(s, "a0").free_gpus, 4);
}

class OtherGpusTest : public OccupationTest {
 protected:
  OtherGpusTest() : OccupationTest("example.com/accelerator") {}
};

TEST_F(OtherGpusTest, APodWhoseRequestsCannotBeReadLeavesNoGpuFreeOfAnyResource) {
  AddPod("odd", {{"example.com/accelerator", "eight"}});
  const plan::Snapshot s = BuildSnapshot(cluster_);
  EXPECT_EQ(State(s, "a0").free_gpus, 0);
  EXPECT_EQ(State(s, "a1").free_gpus, 8);
}

}  // namespace
}  // namespace yardmaster::state
