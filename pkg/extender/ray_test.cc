// RayClusters, alone and of RayJobs: their workers are numbered by us and placed as a gang. The
// recordings (test/data/kinds/ray) are written after the sources of KubeRay 1.6.
#include <map>
#include <set>

#include "gtest/gtest.h"

#include "pkg/extender/testing/kinds_fixture.h"

namespace yardmaster::extender {
namespace {

class RayTest : public KindsTest {
 protected:
  // A pass waits for more pods, one numbers those that came, and a gang grows in two more.
  RayTest() { passes_ = 6; }

  std::map<std::string, std::string> Ranks() {
    std::map<std::string, std::string> ranks;  // by name of the pod
    for (const json& pod : client_.All(kube::Pods())) {
      const json labels = pod["metadata"].value("labels", json::object());
      if (labels.contains(api::kRankLabel)) {
        ranks[pod["metadata"]["name"].get<std::string>()] =
            labels[api::kRankLabel].get<std::string>();
      }
    }
    return ranks;
  }
  // As admission and KubeRay would make a worker behind the gate.
  void AddWorker(const std::string& name, const json& labels = json::object()) {
    json all = {{"ray.io/cluster", "c"}, {"ray.io/group", "gpu"}, {"ray.io/node-type", "worker"}};
    all.update(labels);
    client_.Seed(kube::Pods(), GatedPod(name, {{api::kGpuResource, "8"}}, all,
                                        {{"apiVersion", "ray.io/v1"},
                                         {"kind", "RayCluster"},
                                         {"name", "c"},
                                         {"uid", "uid-c"},
                                         {"controller", true}},
                                        "tp=8"));
  }
  void SetCluster(const json& groups) {
    client_.Seed({"ray.io", "v1", "rayclusters", "RayCluster", true},
                 {{"apiVersion", "ray.io/v1"},
                  {"kind", "RayCluster"},
                  {"metadata", {{"name", "c"}, {"namespace", "team"}, {"uid", "uid-c"}}},
                  {"spec", {{"workerGroupSpecs", groups}}}});
  }
  static json Group(const std::string& name, int replicas) {
    return {{"groupName", name},
            {"replicas", replicas},
            {"template",
             {{"metadata", {{"annotations", {{api::kParallelismAnnotation, "tp=8"}}}}},
              {"spec",
               {{"containers",
                 json::array({{{"name", "w"},
                               {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}}}}};
  }
  // Passes until nothing is left to wait for.
  void Settle(Process& process) {
    for (int i = 0; i < passes_; ++i) {
      process.Pass();
      clock_.Advance(1'000);
    }
  }
};

TEST_F(RayTest, RayCluster) {
  Replay({{"ray/0-created", 1, 4, false},
          {"ray/1-running", 1, 4},
          {"ray/2-replica-made-again", 1, 4},
          {"ray/3-scaled-up", 1, 6, false},
          {"ray/4-scaled-down", 1, 4, false},
          {"ray/5-suspended", 0, 0, false},
          {"ray/6-resumed", 1, 4, false}});
}

TEST_F(RayTest, ARetriedRayJobIsAnotherGang) {
  Replay({{"ray/rayjob-0-running", 1, 4, false},
          {"ray/rayjob-1-worker-made-again", 1, 4},
          {"ray/rayjob-2-retried", 1, 4, false}});
}

TEST_F(RayTest, RanksFollowReplicasAndTheirHostsAndOtherPodsHaveNone) {
  Apply("ray/0-created");
  Process process(*this, true);
  Settle(process);
  EXPECT_EQ(Ranks(), (std::map<std::string, std::string>{{"llm-gpu-worker-zq8lw", "0"},
                                                         {"llm-gpu-worker-b7t4p", "1"},
                                                         {"llm-gpu-worker-m5d9k", "2"},
                                                         {"llm-gpu-worker-a3v6j", "3"}}));
}

TEST_F(RayTest, WorkersThatComeOneByOneAreNumberedTogetherAndPlacedWhenAllAreThere) {
  SetCluster(json::array({Group("b", 1), Group("gpu", 2)}));
  Process process(*this, true);
  AddWorker("z", {{"ray.io/group", "b"}});
  process.Pass();
  clock_.Advance(900);
  AddWorker("y");
  process.Pass();
  clock_.Advance(900);
  process.Pass();
  EXPECT_TRUE(Ranks().empty()) << "another pod may follow the last one";
  Settle(process);
  EXPECT_EQ(Ranks(), (std::map<std::string, std::string>{{"z", "0"}, {"y", "1"}}));
  EXPECT_TRUE(HostsOf("raycluster-c").empty()) << "the cluster wants three";
  AddWorker("x");
  Settle(process);
  EXPECT_EQ(Ranks().at("x"), "2");
  EXPECT_EQ(HostsOf("raycluster-c").size(), 3u);
}

TEST_F(RayTest, AHeadWithGpusIsRankZero) {
  json cluster = {{"template", Group("", 0)["template"]}};
  SetCluster(json::array({Group("gpu", 1)}));
  json object = *client_.Find({"ray.io", "v1", "rayclusters", "RayCluster", true}, "team", "c");
  object["spec"]["headGroupSpec"] = cluster;
  client_.Seed({"ray.io", "v1", "rayclusters", "RayCluster", true}, object);
  AddWorker("a");
  AddWorker("head", {{"ray.io/group", "headgroup"}, {"ray.io/node-type", "head"}});
  Process process(*this, true);
  Settle(process);
  EXPECT_EQ(Ranks(), (std::map<std::string, std::string>{{"head", "0"}, {"a", "1"}}));
  EXPECT_EQ(HostsOf("raycluster-c").size(), 2u);
}

TEST_F(RayTest, ARankThatIsTakenAwayInTheMiddleKeepsItsHostForThePodThatComesNext) {
  SetCluster(json::array({Group("gpu", 3)}));
  for (const char* name : {"a", "b", "c"}) AddWorker(name);
  Process process(*this, true);
  Settle(process);
  RunReleasedPods();
  const auto hosts = HostsOf("raycluster-c");
  ASSERT_EQ(hosts.size(), 3u);
  DeletePod("b");
  SetCluster(json::array({Group("gpu", 2)}));
  Settle(process);
  EXPECT_EQ(HostsOf("raycluster-c"), hosts) << "rank 2 runs and keeps its number";
  SetCluster(json::array({Group("gpu", 3)}));
  AddWorker("d");
  Settle(process);
  EXPECT_EQ(Ranks().at("d"), "1");
  EXPECT_EQ(PinnedTo(*client_.Find(kube::Pods(), "team", "d")), hosts[1]);
}

TEST_F(RayTest, APodThatIsNotOfTheClusterItNamesIsNotNumbered) {
  AddWorker("a");
  json pod = *client_.Find(kube::Pods(), "team", "a");
  pod["metadata"]["ownerReferences"][0]["name"] = "other";
  client_.Seed(kube::Pods(), pod);
  Process process(*this, true);
  Settle(process);
  EXPECT_TRUE(Ranks().empty());
  EXPECT_EQ(CountNotices("NotInGang"), 1);
}

}  // namespace
}  // namespace yardmaster::extender
