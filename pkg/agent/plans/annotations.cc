#include "pkg/agent/plans/annotations.h"

#include "nlohmann/json.hpp"

namespace yardmaster::agent {

namespace {

absl::StatusOr<nlohmann::json> PatchMetadata(kube::Client& client, const kube::Target& target,
                                             const nlohmann::json& metadata) {
  kube::PatchBody body = kube::MergePatch({{"metadata", metadata}});
  body.field_manager = "yardmaster-agent";
  return client.Patch(target, body);
}

}  // namespace

absl::StatusOr<nlohmann::json> AnnotateNode(kube::Client& client, const std::string& node,
                                            const nlohmann::json& annotations) {
  return PatchMetadata(client, {kube::Nodes(), "", node}, {{"annotations", annotations}});
}

absl::Status AnnotatePod(kube::Client& client, const PodInput& pod, const char* annotation,
                         const std::optional<std::string>& text) {
  const nlohmann::json value = text ? nlohmann::json(*text) : nlohmann::json();
  return PatchMetadata(client, {kube::Pods(), pod.ns, pod.name},
                       {{"uid", pod.uid}, {"annotations", {{annotation, value}}}})
      .status();
}

}  // namespace yardmaster::agent
