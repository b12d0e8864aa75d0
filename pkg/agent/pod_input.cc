#include "pkg/agent/pod_input.h"

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/kube/object.h"

namespace yardmaster::agent {

namespace {

std::optional<std::string> Annotation(const nlohmann::json& pod, const char* name) {
  const nlohmann::json* value = kube::FindAt(pod, {"metadata", "annotations", name});
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

}  // namespace

std::optional<PodInput> ReadPod(const nlohmann::json& pod) {
  const std::string phase = kube::StringAt(pod, {"status", "phase"});
  if (phase == "Succeeded" || phase == "Failed") return std::nullopt;
  PodInput input;
  input.ns = kube::NamespaceOf(pod);
  input.name = kube::NameOf(pod);
  input.uid = kube::UidOf(pod);
  input.node = kube::StringAt(pod, {"spec", "nodeName"});
  input.slot = Annotation(pod, api::kSlotAnnotation);
  input.priority = Annotation(pod, api::kPriorityAnnotation);
  input.path_plan = Annotation(pod, api::kPathPlanAnnotation);
  if (input.uid.empty() || input.node.empty()) return std::nullopt;
  if (!input.slot && !input.priority && !input.path_plan) return std::nullopt;
  return input;
}

}  // namespace yardmaster::agent
