// Writes annotations under the name of the agent in metadata.managedFields. Thread safety: that of
// the client.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "pkg/agent/plans/pod_input.h"
#include "pkg/kube/client.h"

namespace yardmaster::agent {

// `annotations`: an object; null takes an annotation away. Returns the Node. Errors: the client's.
absl::StatusOr<nlohmann::json> AnnotateNode(kube::Client& client, const std::string& node,
                                            const nlohmann::json& annotations);
// `text` nullopt removes the annotation.
absl::Status AnnotatePod(kube::Client& client, const PodInput& pod, const char* annotation,
                         const std::optional<std::string>& text);

}  // namespace yardmaster::agent
