#include "pkg/operator/pods/standby_pod.h"

#include <algorithm>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/api/names.h"
#include "pkg/api/pod_manifest.h"
#include "pkg/api/short_hash.h"
#include "pkg/api/standby.h"
#include "pkg/base/strings.h"
#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

constexpr int kNobody = 65'534;

json ContainersOf(const api::PodManifest& worker) {
  std::vector<json> wanted;  // image and policy
  for (const auto* containers : {&worker.init_containers, &worker.containers}) {
    for (const api::ContainerManifest& container : *containers) {
      json one = json::object();
      for (const char* field : {"image", "imagePullPolicy"}) {
        const auto found = container.fields.find(field);
        if (found != container.fields.end()) one[field] = found->second;
      }
      if (std::find(wanted.begin(), wanted.end(), one) == wanted.end()) wanted.push_back(one);
    }
  }
  json out = json::array();
  for (json& container : wanted) {
    container["name"] = StrCat("image-", out.size());
    container["command"] = {"sleep", "2147483647"};
    // A runtime that gives GPUs by this variable gives it none.
    container["env"] = json::array({{{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "void"}}});
    // Written, so that no LimitRange writes more, and a quota that asks for them has them.
    const json nothing = {{"cpu", "0"}, {"memory", "0"}};
    container["resources"] = {{"requests", nothing}, {"limits", nothing}};
    container["securityContext"] = {{"allowPrivilegeEscalation", false},
                                    {"readOnlyRootFilesystem", true},
                                    {"capabilities", {{"drop", {"ALL"}}}}};
    out.push_back(std::move(container));
  }
  return out;
}

json TolerationsOf(const api::TrainingJob& job) {
  json out = json::array();
  for (const api::Toleration& toleration : job.constraints.tolerations) {
    out.push_back(api::EncodeObject(toleration));
  }
  // The API server may add the last one to pods that ask for GPUs.
  for (const std::string& key :
       {std::string(api::kBackupKey), std::string(api::kPromisedKey), job.job.gpu_resource}) {
    out.push_back({{"key", key}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
  }
  return out;
}

}  // namespace

json BuildStandbyPod(const api::TrainingJob& job, const std::string& host) {
  const api::PodManifest worker = job.pod_template.Manifest();
  const json pinned = {{"key", "metadata.name"}, {"operator", "In"}, {"values", {host}}};
  json spec = {
      {"containers", ContainersOf(worker)},
      {"tolerations", TolerationsOf(job)},
      {"affinity",
       {{"nodeAffinity",
         {{"requiredDuringSchedulingIgnoredDuringExecution",
           {{"nodeSelectorTerms", json::array({{{"matchFields", json::array({pinned})}}})}}}}}}},
      {"restartPolicy", "Never"},
      {"terminationGracePeriodSeconds", 1},  // a process with the number 1 ignores SIGTERM
      {"automountServiceAccountToken", false},
      {"enableServiceLinks", false},
      {"securityContext",
       {{"runAsNonRoot", true},
        {"runAsUser", kNobody},
        {"runAsGroup", kNobody},
        {"seccompProfile", {{"type", "RuntimeDefault"}}}}}};
  for (const char* field : {"imagePullSecrets", "serviceAccountName", "schedulerName"}) {
    const auto found = worker.spec.find(field);
    if (found != worker.spec.end()) spec[field] = found->second;
  }
  const std::string contents = StrCat(job.metadata.uid, " ", host, " ", spec.dump());
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", StrCat(job.metadata.name, "-standby-", api::ShortHash(contents))},
            {"namespace", job.metadata.namespace_name},
            {"labels", {{api::kStandbyLabel, job.metadata.name}}},
            {"ownerReferences", json::array({ControllerReference(job)})}}},
          {"spec", std::move(spec)}};
}

}  // namespace yardmaster::op
