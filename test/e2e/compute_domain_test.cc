// TrainingJobs with a ComputeDomain of NVIDIA's driver on a real control plane: kube-scheduler
// allocates the channels, and the test stands for the driver.
#include "pkg/api/compute_domain.h"

#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

constexpr char kDriver[] = "compute-domain.nvidia.com";

class ComputeDomainTest : public StoryTest {
 protected:
  // The kind, the class, and a channel on every host.
  static absl::Status InstallDriver() {
    auto& plane = cluster_->plane();
    const std::string file =
        StrCat(YARDMASTER_SOURCE_DIR, "/test/data/compute-domains/driver.yaml");
    json channels = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", json::array()}};
    const json nodes = cluster_->Get({"nodes"});
    for (const json& node : nodes["items"]) {
      const json& name = node["metadata"]["name"];
      channels["items"].push_back(
          {{"apiVersion", "resource.k8s.io/v1"},
           {"kind", "ResourceSlice"},
           {"metadata", {{"name", StrCat(name.get<std::string>(), "-channels")}}},
           {"spec",
            {{"driver", kDriver},
             {"nodeName", name},
             {"pool", {{"name", name}, {"generation", 1}, {"resourceSliceCount", 1}}},
             {"devices",
              json::array({{{"name", "channel-0"},
                            {"attributes",
                             {{"type", {{"string", "channel"}}}, {"id", {{"int", 0}}}}}}})}}}});
    }
    absl::Status done = plane.Apply(channels.dump());
    done.Update(plane.Kubectl({"apply", "-f", file}).status());
    done.Update(plane
                    .Kubectl({"wait", "--for=condition=Established", "--timeout=60s",
                              "crd/computedomains.resource.nvidia.com"})
                    .status());
    return done;
  }
  // What NVIDIA's controller does when it sees a ComputeDomain. There the template goes by a
  // finalizer, and here by its owner.
  static void MakeTemplates() {
    const json domains = cluster_->Get({"computedomains", "-n", "team"});
    if (!domains.is_object()) return;
    for (const json& domain : domains["items"]) {
      const json& metadata = domain["metadata"];
      const json claim_template = {
          {"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaimTemplate"},
          {"metadata",
           {{"name", domain["spec"]["channel"]["resourceClaimTemplate"]["name"]},
            {"namespace", "team"},
            {"ownerReferences", json::array({{{"apiVersion", domain["apiVersion"]},
                                              {"kind", domain["kind"]},
                                              {"name", metadata["name"]},
                                              {"uid", metadata["uid"]}}})}}},
          {"spec",
           {{"spec",
             {{"devices",
               {{"requests",
                 json::array({{{"name", "channel"},
                               {"exactly", {{"deviceClassName", api::kChannelClass}}}}})}}}}}}}};
      const absl::Status applied = cluster_->plane().Apply(claim_template.dump());
      EXPECT_TRUE(applied.ok()) << applied;
    }
  }
  static std::string JobWithDomain(const std::string& name) {
    std::string job =
        TrainingJob(name, 2, R"("computeDomain": true, "parallelism": {"tensor": 4})");
    const std::string gpus = R"("gpusPerWorker": 8)";
    return job.replace(job.find(gpus), gpus.size(), R"("gpusPerWorker": 4)");
  }
  static bool RunsInItsDomain(const std::string& job) {
    return WaitFor(2 * kPatience, [&] {
      MakeTemplates();
      return ConditionOf(Job(job), "Running") == "True";
    });
  }
};

// Every host has room for the workers of both jobs, and one channel.
TEST_F(ComputeDomainTest, JobsWaitForTheDriverAndThenHaveTheChannelOfEachOfTheirHosts) {
  ASSERT_TRUE(cluster_->plane().Apply(JobWithDomain("d")).ok());
  ASSERT_TRUE(Has("d", "Stalled")) << Job("d").dump(1);
  EXPECT_NE(Job("d").dump().find("install NVIDIA's DRA driver"), std::string::npos);
  EXPECT_TRUE(HostsOf("d").empty());
  const absl::Status installed = InstallDriver();
  ASSERT_TRUE(installed.ok()) << installed;
  ASSERT_TRUE(RunsInItsDomain("d")) << Job("d").dump(1) << Gang("d").dump(1);
  ASSERT_TRUE(cluster_->plane().Apply(JobWithDomain("e")).ok());
  ASSERT_TRUE(RunsInItsDomain("e")) << Job("e").dump(1) << Gang("e").dump(1);

  std::set<std::string> hosts;
  for (const json& pod : Pods()) hosts.insert(pod["spec"].value("nodeName", ""));
  EXPECT_EQ(hosts.size(), 4U);
  std::set<std::string> channels;
  const json claims = cluster_->Get({"resourceclaims", "-n", "team"});
  for (const json& claim : claims["items"]) {
    channels.insert(
        claim.value("/status/allocation/devices/results/0/pool"_json_pointer, std::string()));
  }
  EXPECT_EQ(channels, hosts) << claims.dump(1);
  CheckPromises();

  // One that fails is made again, in the domain that is there.
  const json domain = cluster_->Get({"computedomain", "-n", "team", "d"});
  ASSERT_TRUE(domain.is_object());
  EXPECT_EQ(domain["metadata"]["ownerReferences"][0]["name"], "d");
  ASSERT_TRUE(cluster_->plane().Kubectl({"delete", "pod", "-n", "team", "d-1"}).ok());
  EXPECT_TRUE(WaitFor(kPatience, [] {
    const json job = Job("d");
    return ConditionOf(job, "Running") == "True" && ConditionOf(job, "Recovering") == "False";
  })) << Job("d").dump(1);

  ASSERT_TRUE(cluster_->plane()
                  .Kubectl({"delete", "trainingjob", "-n", "team", "d", "--timeout=60s"})
                  .ok());
  EXPECT_TRUE(WaitFor(kPatience, [] {
    const json left = cluster_->Get({"computedomains", "-n", "team"});
    return left.is_object() && left["items"].size() == 1;
  })) << "the domain stays when its job is deleted";
}

}  // namespace
}  // namespace yardmaster::testing
