#include "pkg/operator/pods/pod_checkpoint.h"

#include <string>

#include "nlohmann/json.hpp"

#include "pkg/api/checkpoint_mark.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

constexpr char kRequestVolume[] = "yardmaster-checkpoint-request";
constexpr char kDataVolume[] = "yardmaster-checkpoint";
constexpr char kMarkFolder[] = "/run/yardmaster/checkpoint";

// To every container. `volume`: null where none is mounted.
void AddEverywhere(api::PodManifest& pod, const char* variable, const std::string& value,
                   const char* volume, const std::string& path, bool read_only) {
  for (auto* list : {&pod.init_containers, &pod.containers}) {
    for (api::ContainerManifest& container : *list) {
      container.AddEnv(variable, value);
      if (volume != nullptr) container.AddMount(volume, path, read_only);
    }
  }
}

}  // namespace

void AddCheckpointEnvironment(const api::CheckpointPolicy& policy, api::PodManifest& pod) {
  const std::string& directory = policy.directory;
  if (!directory.empty()) {
    const bool claimed = !policy.claim.empty();
    if (claimed) {
      pod.AddVolume(kDataVolume, {{"name", kDataVolume},
                                  {"persistentVolumeClaim", {{"claimName", policy.claim}}}});
    }
    AddEverywhere(pod, "YARDMASTER_CHECKPOINT_DIR", directory, claimed ? kDataVolume : nullptr,
                  directory, false);
  }
  if (policy.mark == api::CheckpointMarkBy::kFile) {
    const char* volume = api::kCheckpointMarkVolume;
    pod.AddVolume(volume, {{"name", volume}, {"emptyDir", json::object()}});
    AddEverywhere(pod, "YARDMASTER_CHECKPOINT_MARK",
                  StrCat(kMarkFolder, "/", api::kCheckpointMarkFile), volume, kMarkFolder, false);
  }
  if (policy.request != api::CheckpointRequest::kAnnotation) return;
  const std::string field =
      StrCat("metadata.annotations['", api::kCheckpointRequestAnnotation, "']");
  pod.AddVolume(
      kRequestVolume,
      {{"name", kRequestVolume},
       {"downwardAPI",
        {{"items", json::array({{{"path", "request"}, {"fieldRef", {{"fieldPath", field}}}}})}}}});
  AddEverywhere(pod, "YARDMASTER_CHECKPOINT_REQUEST", StrCat(kCheckpointFolder, "/request"),
                kRequestVolume, kCheckpointFolder, true);
}

void AddCheckpointHook(const api::CheckpointPolicy& policy, api::PodManifest& pod) {
  if (policy.request != api::CheckpointRequest::kCommand || pod.containers.empty()) return;
  pod.containers.front().lifecycle.try_emplace("preStop",
                                               json{{"exec", {{"command", policy.command}}}});
}

}  // namespace yardmaster::op
