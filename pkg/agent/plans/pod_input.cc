#include "pkg/agent/plans/pod_input.h"

#include "pkg/api/annotation.h"
#include "pkg/api/names.h"
#include "pkg/kube/object.h"

namespace yardmaster::agent {

namespace {

constexpr char kMultusStatus[] = "k8s.v1.cni.cncf.io/network-status";

std::optional<std::string> Annotation(JsonView pod, const char* name) {
  const auto text = pod.At({"metadata", "annotations", name}).String();
  // A longer one is refused where it is read.
  return text ? std::optional<std::string>(text->substr(0, api::kMaxAnnotationBytes + 1))
              : std::nullopt;
}

}  // namespace

std::optional<PodInput> ReadPod(JsonView pod) {
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
  input.progress = Annotation(pod, api::kProgressAnnotation);
  input.network_status = Annotation(pod, kMultusStatus).value_or("");
  input.host_network = pod.At({"spec", "hostNetwork"}).Bool().value_or(false);
  if (input.uid.empty() || input.node.empty()) return std::nullopt;
  if (!input.slot && !input.priority && !input.path_plan) return std::nullopt;
  return input;
}

}  // namespace yardmaster::agent
