#include "pkg/operator/pods/pod_checkpoint.h"

#include <string>

#include "nlohmann/json.hpp"

#include "pkg/api/checkpoint_mark.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/operator/pods/json_list.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

constexpr char kRequestVolume[] = "yardmaster-checkpoint-request";
constexpr char kDataVolume[] = "yardmaster-checkpoint";
constexpr char kMarkFolder[] = "/run/yardmaster/checkpoint";

bool Has(const json& list, const char* key, const std::string& value) {
  for (const json& entry : list) {
    if (entry.is_object() && entry.value(key, json()) == value) return true;
  }
  return false;
}

void AddVolume(json& pod, json volume) {
  json& volumes = ListAt(pod["spec"], "volumes");
  if (!Has(volumes, "name", volume["name"])) volumes.push_back(std::move(volume));
}

// To every container.
void AddEverywhere(json& pod, const char* variable, const std::string& value, const char* volume,
                   const std::string& path, bool read_only) {
  for (const char* list : {"initContainers", "containers"}) {
    json& spec = pod["spec"];
    if (!spec.contains(list) || !spec[list].is_array()) continue;
    for (json& container : spec[list]) {
      json& env = ListAt(container, "env");
      if (!Has(env, "name", variable)) env.push_back({{"name", variable}, {"value", value}});
      if (volume == nullptr) continue;
      json& mounts = ListAt(container, "volumeMounts");
      if (Has(mounts, "mountPath", path)) continue;
      mounts.push_back({{"name", volume}, {"mountPath", path}, {"readOnly", read_only}});
    }
  }
}

}  // namespace

void AddCheckpointEnvironment(const json& training_job, json& pod) {
  const json policy = training_job.value("/spec/checkpoint"_json_pointer, json::object());
  const std::string directory = policy.value("directory", "");
  const std::string claim = policy.value("claim", "");
  if (!directory.empty()) {
    if (!claim.empty()) {
      AddVolume(pod, {{"name", kDataVolume}, {"persistentVolumeClaim", {{"claimName", claim}}}});
    }
    AddEverywhere(pod, "YARDMASTER_CHECKPOINT_DIR", directory,
                  claim.empty() ? nullptr : kDataVolume, directory, false);
  }
  if (policy.value("mark", "") == "File") {
    AddVolume(pod, {{"name", api::kCheckpointMarkVolume}, {"emptyDir", json::object()}});
    AddEverywhere(pod, "YARDMASTER_CHECKPOINT_MARK",
                  StrCat(kMarkFolder, "/", api::kCheckpointMarkFile), api::kCheckpointMarkVolume,
                  kMarkFolder, false);
  }
  if (policy.value("request", "") != "Annotation") return;
  const std::string field =
      StrCat("metadata.annotations['", api::kCheckpointRequestAnnotation, "']");
  AddVolume(
      pod,
      {{"name", kRequestVolume},
       {"downwardAPI",
        {{"items", json::array({{{"path", "request"}, {"fieldRef", {{"fieldPath", field}}}}})}}}});
  AddEverywhere(pod, "YARDMASTER_CHECKPOINT_REQUEST", StrCat(kCheckpointFolder, "/request"),
                kRequestVolume, kCheckpointFolder, true);
}

void AddCheckpointHook(const json& training_job, json& pod) {
  const json policy = training_job.value("/spec/checkpoint"_json_pointer, json::object());
  json& containers = pod["spec"]["containers"];
  if (policy.value("request", "") != "Command" || !policy.contains("command")) return;
  if (!containers.is_array() || containers.empty()) return;
  json& lifecycle = containers[0]["lifecycle"];
  if (!lifecycle.is_object()) lifecycle = json::object();
  if (!lifecycle.contains("preStop")) {
    lifecycle["preStop"] = {{"exec", {{"command", policy["command"]}}}};
  }
}

}  // namespace yardmaster::op
