#include "pkg/extender/steps/eviction.h"

#include "nlohmann/json.hpp"

namespace yardmaster::extender {

absl::Status EvictPod(kube::Client& client, const api::ObjectMeta& pod, EvictWhen when) {
  nlohmann::json preconditions = {{"uid", pod.uid}};
  if (when == EvictWhen::kSameVersion) preconditions["resourceVersion"] = pod.resource_version;
  const nlohmann::json eviction = {
      {"apiVersion", "policy/v1"},
      {"kind", "Eviction"},
      {"metadata", {{"name", pod.name}, {"namespace", pod.namespace_name}}},
      {"deleteOptions", {{"preconditions", std::move(preconditions)}}}};
  return client.Create({kube::Pods(), pod.namespace_name, pod.name, "eviction"}, eviction, {})
      .status();
}

}  // namespace yardmaster::extender
