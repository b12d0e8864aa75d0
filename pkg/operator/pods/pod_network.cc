#include "pkg/operator/pods/pod_network.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/operator/pods/json_list.h"

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

bool HasNamed(const json& list, const char* key, const std::string& name) {
  if (!list.is_array()) return false;
  for (const json& entry : list) {
    if (entry.is_object() && entry.value(key, json()) == name) return true;
  }
  return false;
}

void AddTo(json& container, std::set<std::string>& kept) {
  for (const char* name : kOwnVariables) {
    if (HasNamed(container.value("env", json()), "name", name)) kept.insert(name);
  }
  json& env = ListAt(container, "env");
  for (const auto& [name, file] :
       {std::pair{"NCCL_CONF_FILE", kConfFile}, std::pair{"YARDMASTER_PLAN", kPlanFile}}) {
    if (HasNamed(env, "name", name)) continue;
    env.push_back({{"name", name}, {"value", StrCat(kNetworkFolder, "/", file)}});
  }
  json& mounts = ListAt(container, "volumeMounts");
  if (!HasNamed(mounts, "mountPath", kNetworkFolder)) {
    mounts.push_back({{"name", kNetworkVolume}, {"mountPath", kNetworkFolder}, {"readOnly", true}});
  }
}

}  // namespace

void AddNetworkEnvironment(json& pod) {
  json& spec = pod["spec"];
  json& volumes = ListAt(spec, "volumes");
  if (HasNamed(volumes, "name", kNetworkVolume)) return;
  volumes.push_back({{"name", kNetworkVolume},
                     {"downwardAPI",
                      {{"items", json::array({Item(api::kNcclConfAnnotation, kConfFile),
                                              Item(api::kPathPlanAnnotation, kPlanFile),
                                              Item(api::kPriorityAnnotation, kLevelFile)})}}}});
  std::set<std::string> kept;
  for (const char* list : {"initContainers", "containers"}) {
    if (!spec.contains(list) || !spec[list].is_array()) continue;
    for (json& container : spec[list]) {
      if (container.is_object()) AddTo(container, kept);
    }
  }
  if (!kept.empty()) {
    pod["metadata"]["annotations"][api::kKeptEnvironmentAnnotation] =
        Join(std::vector<std::string>(kept.begin(), kept.end()), ",");
  }
}

}  // namespace yardmaster::op
