// GPUs by claims on a real control plane: kube-scheduler allocates them, and Yardmaster counts
// them. Half of the hosts have their GPUs in ResourceSlices, the others in their kubelets' words.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

class DevicesTest : public StoryTest {
 protected:
  static void SetUpTestSuite() {
    StoryTest::SetUpTestSuite();
    if (HasFatalFailure()) return;
    ASSERT_TRUE(cluster_->plane().Kubectl({"create", "namespace", "c"}).ok());
    std::vector<std::string> command = {StrCat(YARDMASTER_SOURCE_DIR, "/test/devices/driver"),
                                        cluster_->plane().kubeconfig(), "8"};
    const json nodes = cluster_->Get({"nodes"});
    for (const json& node : nodes["items"]) {
      const std::string name = node["metadata"]["name"];
      if (node["metadata"]["labels"]["yardmaster.dev/segment"] == FirstSegment(nodes)) {
        command.push_back(name);
        by_claims_.insert(name);
      }
    }
    const std::string path = StrCat(cluster_->plane().bin(), ":", getenv("PATH"));
    const auto published = RunProgram(command, "", {{"PATH", path}});
    ASSERT_TRUE(published.ok()) << published.status();
    // The classes and templates that the cases share.
    ASSERT_TRUE(cluster_->plane().Apply(Case("claims.yaml", 0, 2)).ok());
  }
  void TearDown() override {
    EXPECT_TRUE(cluster_->plane()
                    .Kubectl({"delete", "jobs,pods", "-n", "c", "--all", "--timeout=60s"})
                    .ok());
    EXPECT_TRUE(WaitFor(kPatience, [] {
      return cluster_->Get({"gangs", "-n", "c"})["items"].empty() &&
             cluster_->Get({"resourceclaims", "-n", "c"})["items"].empty();
    })) << "a deleted job leaves a gang or a claim behind";
    StoryTest::TearDown();
  }

  static std::string FirstSegment(const json& nodes) {
    return nodes["items"][0]["metadata"]["labels"]["yardmaster.dev/segment"];
  }
  // Documents `from` to `to` of a file of test/data/devices.
  static std::string Case(const std::string& name, std::size_t from, std::size_t to) {
    std::ifstream in(StrCat(YARDMASTER_SOURCE_DIR, "/test/data/devices/", name));
    std::ostringstream text;
    std::string line;
    for (std::size_t document = 0; std::getline(in, line);) {
      if (line == "---") ++document;
      if (document >= from && document < to) text << line << "\n";
    }
    return text.str();
  }
  static std::vector<json> PodsOf(const std::string& ns) {
    const json list = cluster_->Get({"pods", "-n", ns});
    return list.is_object() ? list["items"].get<std::vector<json>>() : std::vector<json>{};
  }
  static std::set<std::string> BoundTo(const std::string& ns) {
    std::set<std::string> out;
    for (const json& pod : PodsOf(ns)) {
      const std::string node = pod["spec"].value("nodeName", "");
      if (!node.empty()) out.insert(node);
    }
    return out;
  }
  static void ExpectOnHosts(const std::string& ns, std::size_t hosts, bool by_claims) {
    EXPECT_TRUE(WaitFor(kPatience, [&] { return BoundTo(ns).size() == hosts; }))
        << cluster_->Get({"pods,gangs,events", "-n", ns}).dump(1).substr(0, 20'000);
    for (const std::string& host : BoundTo(ns)) {
      EXPECT_TRUE(!by_claims || by_claims_.count(host) == 1) << host;
    }
  }

  static inline std::set<std::string> by_claims_;
};

TEST_F(DevicesTest, AGangWithClaimsRunsWholeOnHostsWithDevices) {
  ASSERT_TRUE(cluster_->plane().Apply(Case("claims.yaml", 2, 3)).ok());
  ExpectOnHosts("c", 4, /*by_claims=*/true);
}

TEST_F(DevicesTest, AGangWithTheExtendedResourceRunsWhole) {
  ASSERT_TRUE(cluster_->plane().Apply(Case("extended-resource.yaml", 0, 1)).ok());
  ExpectOnHosts("c", 4, /*by_claims=*/false);
}

TEST_F(DevicesTest, AnOrdinaryPodIsBoundToAFreeHost) {
  ASSERT_TRUE(cluster_->plane().Apply(Case("ordinary-pod.yaml", 0, 1)).ok());
  ExpectOnHosts("c", 1, /*by_claims=*/false);
}

TEST_F(DevicesTest, ATrainingJobWithClaimsRunsAndAsksOnce) {
  ASSERT_TRUE(cluster_->plane()
                  .Apply(R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
      "metadata": {"name": "eight", "namespace": "team"}, "spec": {"spec": {"devices": {"requests": [
          {"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 8}}]}}}})")
                  .ok());
  std::string job = TrainingJob("claims", 2, R"("parallelism": {"tensor": 8})");
  const std::string image = R"("image": "i")";
  job.replace(job.find(image), image.size(),
              StrCat(image, R"(, "resources": {"claims": [{"name": "gpus"}]})"));
  const std::string containers = R"("containers":)";
  job.replace(
      job.find(containers), containers.size(),
      StrCat(R"("resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "eight"}], )",
             containers));
  const absl::Status applied = cluster_->plane().Apply(job);
  ASSERT_TRUE(applied.ok()) << applied;
  ASSERT_TRUE(Has("claims", "Running")) << Job("claims").dump(1) << Gang("claims").dump(1);
  ExpectOnHosts("team", 2, /*by_claims=*/true);
  for (const json& pod : Pods()) {
    const json& resources = pod["spec"]["containers"][0]["resources"];
    EXPECT_FALSE(resources.contains("limits")) << resources;
  }
  CheckPromises();
}

}  // namespace
}  // namespace yardmaster::testing
