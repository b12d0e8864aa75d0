#include "pkg/api/node.h"

#include <algorithm>
#include <iterator>

#include "nlohmann/json.hpp"

#include "pkg/api/kept_metadata.h"
#include "pkg/api/resource_list.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

// Every kubelet reports these; what follows from them, Kubernetes does itself.
constexpr std::string_view kUsualConditions[] = {"MemoryPressure", "DiskPressure", "PIDPressure",
                                                 "NetworkUnavailable"};

void ReadNodeConditions(FieldReader& status, Node& node) {
  for (FieldReader& condition : status.Objects("conditions")) {
    std::string type = condition.String("type");
    if (type == "Ready") {
      if (!node.ready) node.ready = condition.String("status") == "True";
      continue;
    }
    if (std::find(std::begin(kUsualConditions), std::end(kUsualConditions), type) ==
        std::end(kUsualConditions)) {
      node.conditions.emplace_back(std::move(type), condition.String("status"));
    }
  }
}

}  // namespace

bool Node::backup() const {
  if (Find(metadata.labels, kBackupKey) == std::string_view("true")) return true;
  return std::any_of(taints.begin(), taints.end(), [](const Taint& taint) {
    return taint.key == kBackupKey && taint.value != kChosenBackupValue;
  });
}

absl::StatusOr<Node> DecodeNode(JsonView object, Keep keep) {
  FieldErrors errors;
  FieldReader in(object, "", UnknownFields::kIgnore, &errors);
  Node node;
  node.metadata = ReadMetadata(in, Namespaced::kNo, keep == Keep::kRead ? &KeptOfNodes() : nullptr);
  FieldReader spec = in.Object("spec");
  node.unschedulable = spec.Bool("unschedulable", false);
  for (FieldReader& taint : spec.Objects("taints")) {
    node.taints.push_back({taint.RequiredString("key"), taint.String("value"),
                           taint.Enum("effect", kTaintEffectNames, TaintEffect::kNoSchedule)});
  }
  FieldReader status = in.Object("status");
  ReadNodeConditions(status, node);
  FieldReader allocatable = status.Object("allocatable");
  FieldReader capacity = status.Object("capacity");
  node.allocatable = ReadResources(capacity);
  // An amount of 0 counts, too: none of the devices in `capacity` is healthy then.
  for (const auto& [name, amount] : ReadAmounts(allocatable)) {
    workload::SetAmount(node.allocatable, name, amount);
  }
  for (FieldReader& address : status.Objects("addresses")) {
    if (address.String("type") == "InternalIP" && node.internal_ip.empty()) {
      node.internal_ip = address.String("address");
    }
  }
  if (!errors.empty()) return errors.status();
  return node;
}

json EncodeNode(const Node& node) {
  json out = {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", EncodeMetadata(node.metadata)}};
  json spec = json::object();
  if (node.unschedulable) spec["unschedulable"] = true;
  for (const Taint& taint : node.taints) {
    json entry = {{"key", taint.key},
                  {"effect", kTaintEffectNames[static_cast<std::size_t>(taint.effect)]}};
    if (!taint.value.empty()) entry["value"] = taint.value;
    spec["taints"].push_back(std::move(entry));
  }
  if (!spec.empty()) out["spec"] = std::move(spec);
  const json resources = EncodeResources(node.allocatable);
  json status = {{"allocatable", resources}, {"capacity", resources}};
  if (node.ready) {
    status["conditions"] = {{{"type", "Ready"}, {"status", *node.ready ? "True" : "False"}}};
  }
  for (const auto& [type, value] : node.conditions) {
    status["conditions"].push_back({{"type", type}, {"status", value}});
  }
  if (!node.internal_ip.empty()) {
    status["addresses"] = {{{"type", "InternalIP"}, {"address", node.internal_ip}}};
  }
  out["status"] = std::move(status);
  return out;
}

}  // namespace yardmaster::api
