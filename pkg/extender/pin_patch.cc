#include "pkg/extender/pin_patch.h"

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

using nlohmann::json;

int GateIndex(const json& pod) {
  const auto gates = pod.value("/spec/schedulingGates"_json_pointer, json::array());
  for (std::size_t i = 0; i < gates.size(); ++i) {
    if (gates[i].value("name", "") == api::kPlacementGate) return static_cast<int>(i);
  }
  return -1;
}

void Add(json& patch, const std::string& path, json value) {
  patch.push_back({{"op", "add"}, {"path", path}, {"value", std::move(value)}});
}

json HostTerm(const std::string& host) {
  return {{"matchFields",
           json::array({{{"key", "metadata.name"}, {"operator", "In"}, {"values", {host}}}})}};
}

// Required terms are ORed, so the host goes into every one there is.
void AddAffinity(json& patch, const json& pod, const std::string& host) {
  const json required = {{"nodeSelectorTerms", json::array({HostTerm(host)})}};
  const json by_host = {{"requiredDuringSchedulingIgnoredDuringExecution", required}};
  const auto affinity = pod.value("/spec/affinity"_json_pointer, json());
  if (!affinity.is_object()) return Add(patch, "/spec/affinity", {{"nodeAffinity", by_host}});
  const auto node = affinity.value("nodeAffinity", json());
  if (!node.is_object()) return Add(patch, "/spec/affinity/nodeAffinity", by_host);
  const std::string at =
      "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
  const auto terms = node.value(
      "/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"_json_pointer, json());
  if (!terms.is_array() || terms.empty()) return Add(patch, at, required);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::string fields = StrCat(at, "/nodeSelectorTerms/", i, "/matchFields");
    const json field = HostTerm(host)["matchFields"][0];
    if (terms[i].contains("matchFields")) {
      Add(patch, fields + "/-", field);
    } else {
      Add(patch, fields, json::array({field}));
    }
  }
}

void AddToleration(json& patch, const json& pod) {
  const json toleration = {
      {"key", api::kBackupKey}, {"operator", "Exists"}, {"effect", "NoSchedule"}};
  if (pod.contains("/spec/tolerations"_json_pointer)) {
    Add(patch, "/spec/tolerations/-", toleration);
  } else {
    Add(patch, "/spec/tolerations", json::array({toleration}));
  }
}

}  // namespace

absl::StatusOr<json> PinAndReleasePatch(const json& pod, const Pin& pin) {
  const int gate = GateIndex(pod);
  if (gate < 0) return absl::FailedPreconditionError("the pod has no gate of ours");
  if (!pod.value("/spec/nodeName"_json_pointer, std::string()).empty()) {
    return absl::FailedPreconditionError("the pod is bound already");
  }
  const std::string gate_path = StrCat("/spec/schedulingGates/", gate);
  json patch = json::array();
  patch.push_back({{"op", "test"},
                   {"path", "/metadata/uid"},
                   {"value", pod.value("/metadata/uid"_json_pointer, std::string())}});
  patch.push_back({{"op", "test"}, {"path", gate_path + "/name"}, {"value", api::kPlacementGate}});
  if (!pod.contains("/metadata/annotations"_json_pointer)) {
    Add(patch, "/metadata/annotations", json::object());
  }
  Add(patch, "/metadata/annotations/yardmaster.dev~1slot", pin.slot_annotation);
  AddAffinity(patch, pod, pin.host);
  if (pin.backup_host) AddToleration(patch, pod);
  patch.push_back({{"op", "remove"}, {"path", gate_path}});
  return patch;
}

}  // namespace yardmaster::extender
