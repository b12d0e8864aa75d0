// GPUs by claims through `plan --offline`: hosts whose devices stand in ResourceSlices.
#include <fstream>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/cli/testing/offline_plan.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string Case(const std::string& name) {
  std::ifstream in(StrCat(YARDMASTER_SOURCE_DIR, "/test/data/devices/", name));
  std::ostringstream out;
  out << "---\n" << in.rdbuf();
  return out.str();
}

std::string Node(const std::string& name, int gpus) {
  return StrCat("---\napiVersion: v1\nkind: Node\nmetadata: {name: ", name,
                ", labels: {yardmaster.dev/fabric-pod: p0, yardmaster.dev/segment: s0}}\nstatus: ",
                "{allocatable: {cpu: \"64\", memory: 512Gi, pods: \"110\"",
                gpus > 0 ? StrCat(", nvidia.com/gpu: \"", gpus, "\"") : "",
                "}, conditions: [{type: Ready, status: \"True\"}]}\n");
}

// `version`: of resource.k8s.io.
std::string Slice(const std::string& node, int devices, const std::string& version = "v1") {
  std::string out =
      StrCat("---\napiVersion: resource.k8s.io/", version,
             "\nkind: ResourceSlice\nmetadata: {name: ", node,
             "-gpus}\nspec:\n  driver: gpu.nvidia.com\n  nodeName: ", node,
             "\n  pool: {name: ", node, ", generation: 1, resourceSliceCount: 1}\n  devices:\n");
  for (int i = 0; i < devices; ++i) {
    const std::string traits = "attributes: {type: {string: gpu}}";
    out += StrCat("  - {name: gpu-", i, ", ",
                  version == "v1beta1" ? StrCat("basic: {", traits, "}") : traits, "}\n");
  }
  return out;
}

std::string Hosts(int count, const std::string& version = "v1") {
  std::string out;
  for (int h = 0; h < count; ++h) {
    out += Node(StrCat("h", h), 0) + Slice(StrCat("h", h), 8, version);
  }
  return out;
}

json Placed(const std::string& manifests, const std::string& job) {
  const PlanAnswer answer = PlanOffline(manifests);
  EXPECT_EQ(answer.code, 0) << answer.err;
  const json planned = answer.job(job);
  EXPECT_EQ(planned["outcome"], "Placed") << planned << answer.err;
  return planned;
}

TEST(PlanDevicesTest, AGangWithClaimsIsPlacedWhole) {
  for (const char* version : {"v1", "v1beta2", "v1beta1"}) {
    EXPECT_EQ(Placed(Hosts(4, version) + Case("claims.yaml"), "claims")["assignments"].size(), 4u)
        << version;
  }
}

TEST(PlanDevicesTest, AGangWithClaimsOfAPlainClassIsPlacedWhole) {
  const json job = Placed(Hosts(4) + Case("claims-of-a-plain-class.yaml"), "j");
  EXPECT_EQ(job["assignments"].size(), 4u);
  EXPECT_FALSE(job.contains("warnings")) << job["warnings"];
}

std::string ClassAlone() {
  const std::string text = Case("claims.yaml");
  return text.substr(0, text.find("---", 4));
}

TEST(PlanDevicesTest, AGangWithTheExtendedResourceIsPlacedWhole) {
  EXPECT_EQ(
      Placed(Hosts(4) + ClassAlone() + Case("extended-resource.yaml"), "ext")["assignments"].size(),
      4u);
}

TEST(PlanDevicesTest, AGangWithClaimsDoesNotGoToHostsOfADevicePlugin) {
  std::string mixed = Hosts(3);
  for (const char* name : {"p0", "p1", "p2", "p3"}) mixed += Node(name, 8);
  const PlanAnswer answer = PlanOffline(mixed + Case("claims.yaml"));
  EXPECT_NE(answer.job("claims")["outcome"], "Placed") << answer.report;
  EXPECT_EQ(
      Placed(mixed + ClassAlone() + Case("extended-resource.yaml"), "ext")["assignments"].size(),
      4u);
}

TEST(PlanDevicesTest, DevicesThatAClaimHoldsAreNotPlannedWith) {
  const std::string held = R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: held, namespace: other}
spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com}}]}}
status: {allocation: {devices: {results: [{request: g, driver: gpu.nvidia.com, pool: h0, device: gpu-3}]}}}
)";
  EXPECT_NE(PlanOffline(Hosts(4) + held + Case("claims.yaml")).job("claims")["outcome"], "Placed");
  Placed(Hosts(5) + held + Case("claims.yaml"), "claims");
}

}  // namespace
}  // namespace yardmaster::cli
