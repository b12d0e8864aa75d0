// Gangs whose GPUs come by resource claims: placed whole where claims can be counted, and none is
// started in part.
#include <set>

#include "gmock/gmock.h"

#include "pkg/api/compute_domain.h"
#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

using ::testing::HasSubstr;

class ClaimsTest : public BatchJobFixture {
 protected:
  // The pod asks for eight devices by a claim instead of by a limit.
  void ClaimInstead(json pod) {
    pod["spec"]["containers"][0]["resources"] = {{"claims", json::array({{{"name", "g"}}})}};
    Claim(std::move(pod));
  }
  void Claim(json pod) {
    pod["spec"]["resourceClaims"] =
        json::array({{{"name", "g"}, {"resourceClaimTemplateName", "gpus"}}});
    client_.Seed(kube::Pods(), pod);
  }
  void PassFor(std::int64_t ms) {
    Process process(*this, true);
    process.Pass();
    for (int i = 0; i < 2; ++i) {
      clock_.Advance(ms / 2);
      process.Pass();
    }
  }
  int GatedPodsOf(const std::string& job) {
    int gated = 0;
    for (const json& pod : PodsOf(job)) gated += Gated(pod) ? 1 : 0;
    return gated;
  }
};

TEST_F(ClaimsTest, AGangThatClaimsItsGpusStaysBehindTheGateAndIsSaidOnOwnerAndPod) {
  AddBatchJob("a", 4);
  for (const json& pod : PodsOf("a")) ClaimInstead(pod);
  PassFor(20'000);
  EXPECT_EQ(GatedPodsOf("a"), 4);
  EXPECT_EQ(CountNotices("Invalid"), 2) << "one on the Job, one on a pod";
  EXPECT_THAT(NoticesAbout("Invalid"), HasSubstr("spec.resourceClaims: asks for devices by"));
  EXPECT_TRUE(Gang("job-a").empty());
}

TEST_F(ClaimsTest, OnePodThatClaimsItsGpusHoldsItsWholeGang) {
  AddBatchJob("a", 4);
  ClaimInstead(PodsOf("a").back());
  PassFor(20'000);
  EXPECT_EQ(GatedPodsOf("a"), 4);
  EXPECT_THAT(NoticesAbout("Invalid"), HasSubstr("spec.resourceClaims"));
}

TEST_F(ClaimsTest, AGangThatClaimsOtherDevicesBesideItsGpusIsPlaced) {
  AddBatchJob("a", 4);
  for (const json& pod : PodsOf("a")) Claim(pod);
  PassFor(1'000);
  EXPECT_EQ(HostsOf("job-a").size(), 4u);
  EXPECT_EQ(GatedPodsOf("a"), 0);
}

TEST_F(ClaimsTest, AnOrdinaryPodWithClaimsIsLeftAlone) {
  AddBatchJob("a", 1);
  json pod = PodsOf("a").front();
  pod["metadata"].erase("annotations");
  pod["spec"].erase("schedulingGates");
  ClaimInstead(pod);
  const json before = PodsOf("a").front();
  PassFor(20'000);
  EXPECT_EQ(PodsOf("a").front(), before);
  EXPECT_TRUE(notices_.empty());
}

TEST_F(ClaimsTest, AGangThatAsksForItsGpusInTheNextTryIsPlaced) {
  AddBatchJob("a", 2);
  for (const json& pod : PodsOf("a")) ClaimInstead(pod);
  PassFor(20'000);
  DeletePodsOf("a");
  for (int index = 0; index < 2; ++index) AddJobPod("a", index, "tp=8,dp=2");
  PassFor(1'000);
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
}

// Hosts have their devices in ResourceSlices, and their kubelets report no GPU.
class CountedClaimsTest : public ClaimsTest {
 protected:
  CountedClaimsTest() {
    has_devices_ = true;
    client_.Seed(kube::DeviceClasses(), {{"metadata", {{"name", "gpu.nvidia.com"}}},
                                         {"spec", {{"extendedResourceName", api::kGpuResource}}}});
    MakeTemplate(8);
    for (json node : client_.All(kube::Nodes())) {
      for (const char* list : {"allocatable", "capacity"}) {
        if (node["status"].contains(list)) node["status"][list].erase(api::kGpuResource);
      }
      client_.Seed(kube::Nodes(), node);
      Publish(kube::NameOf(node));
    }
  }

  void MakeTemplate(int gpus) {
    client_.Seed(kube::ResourceClaimTemplates(),
                 {{"metadata", {{"name", "gpus"}, {"namespace", "team"}}},
                  {"spec", {{"spec", {{"devices", {{"requests", Gpus(gpus)}}}}}}}});
  }
  static json Gpus(int count) {
    return json::array(
        {{{"name", "g"}, {"exactly", {{"deviceClassName", "gpu.nvidia.com"}, {"count", count}}}}});
  }
  int TaintedHosts() {
    int tainted = 0;
    for (const json& node : client_.All(kube::Nodes())) {
      tainted += node.dump().find(api::kPromisedKey) != std::string::npos ? 1 : 0;
    }
    return tainted;
  }
  void Publish(const std::string& node) {
    json devices = json::array();
    for (int i = 0; i < 8; ++i) devices.push_back({{"name", StrCat("gpu-", i)}});
    client_.Seed(kube::ResourceSlices(),
                 {{"metadata", {{"name", node}}},
                  {"spec",
                   {{"driver", "gpu.nvidia.com"},
                    {"nodeName", node},
                    {"pool", {{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}}},
                    {"devices", devices}}}});
  }
};

TEST_F(CountedClaimsTest, AGangIsPlacedByItsClaims) {
  AddBatchJob("a", 4);
  for (const json& pod : PodsOf("a")) ClaimInstead(pod);
  PassFor(1'000);
  EXPECT_EQ(HostsOf("job-a").size(), 4u);
  EXPECT_EQ(GatedPodsOf("a"), 0);
}

TEST_F(CountedClaimsTest, AGangIsPlacedByTheExtendedResourceOfTheClass) {
  AddBatchJob("a", 4);
  PassFor(1'000);
  EXPECT_EQ(HostsOf("job-a").size(), 4u);
}

TEST_F(CountedClaimsTest, APromisedHostIsTaintedAtOnce) {
  planner_options_.taints.unbound_after_ms = 60'000;
  AddBatchJob("a", 1);
  ClaimInstead(PodsOf("a").front());
  PassFor(0);
  EXPECT_EQ(TaintedHosts(), 1);
}

TEST_F(CountedClaimsTest, APartlyPromisedHostIsTaintedUntilItsPodIsBound) {
  MakeTemplate(4);
  AddBatchJob("a", 1);
  json pod = PodsOf("a").front();
  pod["metadata"]["annotations"][api::kParallelismAnnotation] = "tp=4";
  ClaimInstead(pod);
  PassFor(0);
  ASSERT_EQ(HostsOf("job-a").size(), 1u);
  EXPECT_EQ(TaintedHosts(), 1);

  pod = PodsOf("a").front();
  pod["spec"]["nodeName"] = HostsOf("job-a").front();
  client_.Seed(kube::Pods(), pod);
  PassFor(0);
  EXPECT_EQ(TaintedHosts(), 0);
}

TEST_F(CountedClaimsTest, AGangWhoseTemplateIsNotThereWaitsAndSaysWhy) {
  ASSERT_TRUE(client_.Delete({kube::ResourceClaimTemplates(), "team", "gpus"}, {}).ok());
  AddBatchJob("a", 2);
  for (const json& pod : PodsOf("a")) ClaimInstead(pod);
  PassFor(20'000);
  EXPECT_EQ(GatedPodsOf("a"), 2);
  EXPECT_THAT(NoticesAbout("Invalid"), HasSubstr("ResourceClaimTemplate team/gpus does not exist"));
}

TEST_F(CountedClaimsTest, AGangWhosePodsShareAClaimWaitsAndSaysWhy) {
  client_.Seed(kube::ResourceClaims(), {{"metadata", {{"name", "one"}, {"namespace", "team"}}},
                                        {"spec", {{"devices", {{"requests", Gpus(8)}}}}}});
  AddBatchJob("a", 2);
  for (json pod : PodsOf("a")) {
    pod["spec"]["resourceClaims"] = json::array({{{"name", "g"}, {"resourceClaimName", "one"}}});
    client_.Seed(kube::Pods(), pod);
  }
  PassFor(20'000);
  EXPECT_EQ(GatedPodsOf("a"), 2);
  EXPECT_THAT(NoticesAbout("Invalid"), HasSubstr("shares the ResourceClaim one"));
}

// Hosts have GPUs for two gangs, and one channel.
TEST_F(ClaimsTest, PodsOfComputeDomainsNeverShareAHost) {
  for (const char* job : {"a", "b"}) {
    AddBatchJob(job, 2);
    for (json pod : PodsOf(job)) {
      pod["metadata"]["annotations"][api::kParallelismAnnotation] = "tp=4,dp=2";
      pod["spec"]["containers"][0]["resources"]["limits"][api::kGpuResource] = "4";
      pod["spec"]["resourceClaims"] = json::array(
          {{{"name", api::kComputeDomainClaim}, {"resourceClaimTemplateName", "not-made-yet"}}});
      client_.Seed(kube::Pods(), pod);
    }
  }
  PassFor(1'000);
  std::set<std::string> hosts;
  for (const char* gang : {"job-a", "job-b"}) {
    for (const std::string& host : HostsOf(gang)) hosts.insert(host);
  }
  EXPECT_EQ(hosts.size(), 4u);
}

}  // namespace
}  // namespace yardmaster::extender
