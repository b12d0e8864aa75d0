#include "pkg/operator/pods/pod_network.h"

#include <map>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/operator/testing/pod_edits.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

std::map<std::string, std::string> Env(const json& container) {
  std::map<std::string, std::string> env;
  for (const json& entry : container["env"]) env[entry["name"]] = entry.value("value", "");
  return env;
}

void AddNetworkEnvironment(json& pod) {
  pod = EditPod(pod, [](api::PodManifest& edited) { op::AddNetworkEnvironment(edited); });
}

TEST(PodNetworkTest, EveryContainerFindsThePlanAndNcclsConfiguration) {
  json pod = json::parse(R"({"spec": {"initContainers": [{"name": "i"}],
      "containers": [{"name": "a", "volumeMounts": [{"name": "data", "mountPath": "/data"}]},
                     {"name": "b"}], "volumes": [{"name": "data", "emptyDir": {}}]}})");
  AddNetworkEnvironment(pod);
  ASSERT_EQ(pod["spec"]["volumes"].size(), 2u);
  const json& volume = pod["spec"]["volumes"][1];
  EXPECT_EQ(volume["name"], kNetworkVolume);
  EXPECT_EQ(volume["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"],
            "metadata.annotations['yardmaster.dev/nccl-conf']");
  EXPECT_FALSE(volume.contains("hostPath"));
  for (const json* container : {&pod["spec"]["initContainers"][0], &pod["spec"]["containers"][0],
                                &pod["spec"]["containers"][1]}) {
    EXPECT_EQ(Env(*container)["NCCL_CONF_FILE"], "/etc/yardmaster/network/nccl.conf");
    EXPECT_EQ(Env(*container)["YARDMASTER_PLAN"], "/etc/yardmaster/network/path-plan.json");
    EXPECT_EQ((*container)["volumeMounts"].back()["mountPath"], kNetworkFolder);
    EXPECT_EQ((*container)["volumeMounts"].back()["readOnly"], true);
  }
  EXPECT_FALSE(pod.contains("metadata")) << "nothing was kept";
}

TEST(PodNetworkTest, AContainersOwnVariablesStayAndAreListed) {
  json pod = json::parse(R"({"spec": {"containers": [
      {"name": "a", "env": [{"name": "NCCL_CONF_FILE", "value": "/mine"}]},
      {"name": "b", "env": [{"name": "NCCL_IB_TC", "value": "96"}]}]}})");
  AddNetworkEnvironment(pod);
  EXPECT_EQ(Env(pod["spec"]["containers"][0])["NCCL_CONF_FILE"], "/mine");
  EXPECT_EQ(Env(pod["spec"]["containers"][1])["NCCL_CONF_FILE"],
            "/etc/yardmaster/network/nccl.conf");
  EXPECT_EQ(pod["metadata"]["annotations"][api::kKeptEnvironmentAnnotation],
            "NCCL_CONF_FILE,NCCL_IB_TC");
}

TEST(PodNetworkTest, APodThatHasTheVolumeIsLeftAlone) {
  json pod = json::parse(R"({"spec": {"containers": [{"name": "a"}],
      "volumes": [{"name": "yardmaster-network", "emptyDir": {}}]}})");
  const json before = pod;
  AddNetworkEnvironment(pod);
  EXPECT_EQ(pod, before);
}

}  // namespace
}  // namespace yardmaster::op
