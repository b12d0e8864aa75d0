// What fits on a host, asked of the real kube-scheduler: pods of gangs are pinned only where it
// binds them.
#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

constexpr int kOrdinary = 12;  // hosts of a segment that are not backup hosts

std::string WithCpu(const std::string& name, int workers, int cpu) {
  std::string job = TrainingJob(name, workers, R"("parallelism": {"tensor": 8})");
  const std::string image = R"("image": "i")";
  return job.replace(job.find(image), image.size(),
                     StrCat(image, R"(, "resources": {"requests": {"cpu": ")", cpu, R"("}})"));
}

class FitsStoryTest : public StoryTest {
 protected:
  // An ordinary pod that leaves the host little cpu and all of its GPUs.
  static void Fill(const std::string& host, int cpu) {
    ASSERT_TRUE(
        cluster_->plane()
            .Apply(StrCat(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-)", host,
                          R"(", "namespace": "default"}, "spec": {"nodeName": ")", host,
                          R"(", "automountServiceAccountToken": false,
                                  "containers": [{"name": "c", "image": "i",
                                  "resources": {"requests": {"cpu": ")",
                          cpu, R"("}}}]}})"))
            .ok());
  }
  static std::vector<std::string> OrdinaryHosts() {
    std::vector<std::string> out;
    const json nodes = cluster_->Get({"nodes"});
    for (const json& node : nodes["items"]) {
      if (!node["metadata"]["labels"].contains(api::kBackupKey)) {
        out.push_back(node["metadata"]["name"]);
      }
    }
    return out;
  }
  void TearDown() override {
    EXPECT_TRUE(
        cluster_->plane()
            .Kubectl({"delete", "pods", "-n", "default", "--all", "--grace-period=0", "--force"})
            .ok());
    StoryTest::TearDown();
  }
};

TEST_F(FitsStoryTest, AHostWithoutFreeCpuIsNeverChosen) {
  const std::vector<std::string> hosts = OrdinaryHosts();
  ASSERT_EQ(hosts.size(), 2u * kOrdinary);
  std::set<std::string> full;
  for (std::size_t i = 0; i < hosts.size(); i += 3) {
    Fill(hosts[i], 150);  // of 192
    full.insert(hosts[i]);
  }
  const int room = static_cast<int>(hosts.size() - full.size());
  ASSERT_TRUE(cluster_->plane().Apply(WithCpu("fits", room, 96)).ok());
  ASSERT_TRUE(Has("fits", "Running")) << "every pod was bound where it was pinned";
  CheckPromises();
  EXPECT_EQ(HostsOf("fits").size(), static_cast<std::size_t>(room));
  for (const std::string& host : HostsOf("fits")) EXPECT_EQ(full.count(host), 0u) << host;

  // One more does not fit and gets an event with the reason; none of its pods is released.
  ASSERT_TRUE(cluster_->plane().Apply(WithCpu("more", 1, 96)).ok());
  ASSERT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(Job("more"), "Planned") == "False"; }));
  const std::string told = Gang("more").dump();
  EXPECT_NE(told.find(StrCat(full.size(), " hosts short of cpu: 96 requested, 42 free")),
            std::string::npos)
      << told;
  // As soon as one of the pods goes, it fits.
  ASSERT_TRUE(cluster_->plane()
                  .Kubectl({"delete", "pod", "web-" + *full.begin(), "-n", "default",
                            "--grace-period=0", "--force"})
                  .ok());
  EXPECT_TRUE(Has("more", "Running"));
  EXPECT_EQ(HostsOf("more"), std::set<std::string>{*full.begin()});
}

TEST_F(FitsStoryTest, WorkersSmallerThanAHostShareItAsFarAsTheirMemoryReaches) {
  std::string job = TrainingJob("packed", 4, R"("parallelism": {"tensor": 2})");
  job.replace(job.find(R"("gpusPerWorker": 8)"), 18, R"("gpusPerWorker": 2)");
  const std::string image = R"("image": "i")";
  job.replace(job.find(image), image.size(),
              StrCat(image, R"(, "resources": {"requests": {"memory": "900Gi"}})"));
  ASSERT_TRUE(cluster_->plane().Apply(job).ok());
  ASSERT_TRUE(Has("packed", "Running"));
  std::map<std::string, int> pods;
  for (const json& pod : Pods()) ++pods[pod["spec"].value("nodeName", "")];
  EXPECT_EQ(pods.size(), 2u) << "four would share a host by their GPUs, two do by their memory";
}

}  // namespace
}  // namespace yardmaster::testing
