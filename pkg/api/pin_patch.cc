#include "pkg/api/pin_patch.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/api/slot.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

int GateIndex(const json& pod) {
  const auto gates = pod.value("/spec/schedulingGates"_json_pointer, json::array());
  for (std::size_t i = 0; i < gates.size(); ++i) {
    if (gates[i].value("name", "") == kPlacementGate) return static_cast<int>(i);
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

json WantedTolerations(const Pin& pin) {
  json wanted =
      json::array({{{"key", kPromisedKey}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});
  if (pin.backup_host) {
    wanted.push_back({{"key", kBackupKey}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
  }
  return wanted;
}

void AddTolerations(json& patch, const json& pod, const Pin& pin) {
  json wanted = WantedTolerations(pin);
  const json present = pod.value("/spec/tolerations"_json_pointer, json::array());
  if (!pod.contains("/spec/tolerations"_json_pointer)) {
    return Add(patch, "/spec/tolerations", std::move(wanted));
  }
  for (const json& toleration : wanted) {
    if (std::find(present.begin(), present.end(), toleration) != present.end()) continue;
    Add(patch, "/spec/tolerations/-", toleration);
  }
}

json Begin(const Pin& pin) {
  json patch = json::array();
  patch.push_back({{"op", "test"}, {"path", "/metadata/uid"}, {"value", pin.uid}});
  return patch;
}

// Whether `pod` is the one that was planned and still waits for its place.
absl::Status CheckWaits(const json& pod, const Pin& pin) {
  if (pod.value("/metadata/uid"_json_pointer, std::string()) != pin.uid) {
    return absl::FailedPreconditionError("the pod was made again under its name");
  }
  if (!pod.value("/spec/nodeName"_json_pointer, std::string()).empty()) {
    return absl::FailedPreconditionError("the pod is bound already");
  }
  return absl::OkStatus();
}

void AddSlot(json& patch, bool has_annotations, const Pin& pin) {
  if (!has_annotations) Add(patch, "/metadata/annotations", json::object());
  Add(patch, "/metadata/annotations/yardmaster.dev~1slot", pin.slot_annotation);
}

std::string AnnotationPath(const std::string& key) {
  std::string path = "/metadata/annotations/";
  for (const char c : key) {
    if (c == '~') {
      path += "~0";
    } else if (c == '/') {
      path += "~1";
    } else {
      path += c;
    }
  }
  return path;
}

}  // namespace

Pin PinOf(const Pod& pod, const std::string& gang_name, const AssignmentEntry& slot,
          bool backup_host) {
  return {pod.metadata.uid, pod.selected_host().empty() ? slot.host : "",
          EncodeSlot({gang_name, slot.rank, slot.fabric_pod, slot.segment, slot.stages}),
          backup_host};
}

absl::StatusOr<json> PinAndReleasePatch(const json& pod, const Pin& pin) {
  YM_RETURN_IF_ERROR(CheckWaits(pod, pin));
  const int gate = GateIndex(pod);
  if (gate < 0) return absl::FailedPreconditionError("the pod has no gate of ours");
  const std::string gate_path = StrCat("/spec/schedulingGates/", gate);
  json patch = Begin(pin);
  patch.push_back({{"op", "test"}, {"path", gate_path + "/name"}, {"value", kPlacementGate}});
  AddSlot(patch, pod.contains("/metadata/annotations"_json_pointer), pin);
  if (!pin.host.empty()) AddAffinity(patch, pod, pin.host);
  AddTolerations(patch, pod, pin);
  patch.push_back({{"op", "remove"}, {"path", gate_path}});
  return patch;
}

std::optional<json> ReleasePatchOf(const Pod& pod, const Pin& pin,
                                   const std::map<std::string, std::string>& annotations) {
  const auto& gates = pod.scheduling_gates;
  const auto gate = std::find(gates.begin(), gates.end(), kPlacementGate);
  const bool is_it = pod.metadata.uid == pin.uid && pod.node_name.empty();
  if (!is_it || gate == gates.end() || pod.shape.required_node_affinity) return std::nullopt;
  const std::string gate_path = StrCat("/spec/schedulingGates/", gate - gates.begin());
  json patch = Begin(pin);
  // Annotations that came since would be lost: nothing may have changed.
  if (!pod.shape.annotations) {
    patch.push_back({{"op", "test"},
                     {"path", "/metadata/resourceVersion"},
                     {"value", pod.metadata.resource_version}});
  }
  patch.push_back({{"op", "test"}, {"path", gate_path + "/name"}, {"value", kPlacementGate}});
  const auto planned_for = Find(pod.metadata.annotations, kNetworkGenerationAnnotation);
  if (planned_for) {
    patch.push_back({{"op", "test"},
                     {"path", AnnotationPath(kNetworkGenerationAnnotation)},
                     {"value", std::string(*planned_for)}});
  }
  AddSlot(patch, pod.shape.annotations, pin);
  for (const auto& [key, text] : annotations) Add(patch, AnnotationPath(key), text);
  if (!pin.host.empty()) {
    // As much of the affinity as is there.
    json known = json::object();
    if (pod.shape.affinity) known["spec"]["affinity"] = json::object();
    if (pod.shape.node_affinity) known["spec"]["affinity"]["nodeAffinity"] = json::object();
    AddAffinity(patch, known, pin.host);
  }
  if (!pod.shape.tolerations) {
    Add(patch, "/spec/tolerations", WantedTolerations(pin));
  } else {
    for (const json& toleration : WantedTolerations(pin)) {
      const Taint taint{toleration["key"], "", TaintEffect::kNoSchedule};
      if (Tolerates(pod.constraints.tolerations, taint)) continue;
      Add(patch, "/spec/tolerations/-", toleration);
    }
  }
  patch.push_back({{"op", "remove"}, {"path", gate_path}});
  return patch;
}

absl::StatusOr<json> OpenGatePatch(const json& pod, const std::string& why) {
  const int gate = GateIndex(pod);
  if (gate < 0) return absl::FailedPreconditionError("the pod has no gate of ours");
  const std::string gate_path = StrCat("/spec/schedulingGates/", gate);
  Pin pin;
  pin.uid = pod.value("/metadata/uid"_json_pointer, std::string());
  json patch = Begin(pin);
  patch.push_back({{"op", "test"}, {"path", gate_path + "/name"}, {"value", kPlacementGate}});
  if (!pod.contains("/metadata/annotations"_json_pointer)) {
    Add(patch, "/metadata/annotations", json::object());
  }
  Add(patch, "/metadata/annotations/yardmaster.dev~1released", why);
  // Of a place that was given back while the pod waited for its network plan.
  if (pod.contains("/metadata/annotations/yardmaster.dev~1slot"_json_pointer)) {
    patch.push_back({{"op", "remove"}, {"path", "/metadata/annotations/yardmaster.dev~1slot"}});
  }
  patch.push_back({{"op", "remove"}, {"path", gate_path}});
  return patch;
}

absl::StatusOr<json> AdmitPatch(const json& pod, const Pin& pin) {
  YM_RETURN_IF_ERROR(CheckWaits(pod, pin));
  json patch = Begin(pin);
  AddSlot(patch, pod.contains("/metadata/annotations"_json_pointer), pin);
  AddTolerations(patch, pod, pin);
  return patch;
}

}  // namespace yardmaster::api
