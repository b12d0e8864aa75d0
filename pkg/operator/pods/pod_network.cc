#include "pkg/operator/pods/pod_network.h"

#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

constexpr char kConfFile[] = "nccl.conf";
constexpr char kPlanFile[] = "path-plan.json";
constexpr char kLevelFile[] = "network-priority";
// Variables of NCCL that our files would set: who sets them in the container decides.
constexpr const char* kOwnVariables[] = {"NCCL_CONF_FILE", "NCCL_IB_TC", "NCCL_IBVERBS_LIB",
                                         "YARDMASTER_PLAN"};

json Item(const char* annotation, const char* path) {
  return {{"path", path},
          {"fieldRef", {{"fieldPath", StrCat("metadata.annotations['", annotation, "']")}}}};
}

void AddTo(api::ContainerManifest& container, std::set<std::string>& kept) {
  for (const char* name : kOwnVariables) {
    if (api::HasKey(container.env, name)) kept.insert(name);
  }
  container.AddEnv("NCCL_CONF_FILE", StrCat(kNetworkFolder, "/", kConfFile));
  container.AddEnv("YARDMASTER_PLAN", StrCat(kNetworkFolder, "/", kPlanFile));
  container.AddMount(kNetworkVolume, kNetworkFolder, true);
}

}  // namespace

void AddNetworkEnvironment(api::PodManifest& pod) {
  if (api::HasKey(pod.volumes, kNetworkVolume)) return;
  pod.AddVolume(kNetworkVolume,
                {{"name", kNetworkVolume},
                 {"downwardAPI",
                  {{"items", json::array({Item(api::kNcclConfAnnotation, kConfFile),
                                          Item(api::kPathPlanAnnotation, kPlanFile),
                                          Item(api::kPriorityAnnotation, kLevelFile)})}}}});
  std::set<std::string> kept;
  for (auto* list : {&pod.init_containers, &pod.containers}) {
    for (api::ContainerManifest& container : *list) AddTo(container, kept);
  }
  if (!kept.empty()) {
    pod.annotations[api::kKeptEnvironmentAnnotation] =
        Join(std::vector<std::string>(kept.begin(), kept.end()), ",");
  }
}

}  // namespace yardmaster::op
