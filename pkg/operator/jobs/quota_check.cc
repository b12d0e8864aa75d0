#include "pkg/operator/jobs/quota_check.h"

#include <optional>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

#include "pkg/api/quantity.h"
#include "pkg/base/strings.h"
#include "pkg/workload/resources.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

constexpr std::string_view kCpu = "cpu";
constexpr std::string_view kRequests = "requests.";

// What a quota counts under a name; nullopt: not what pods request.
std::optional<std::string_view> ResourceOf(std::string_view counted) {
  if (counted == "pods" || counted == "count/pods") return "pods";
  if (counted == kCpu || counted == "memory" || counted == "ephemeral-storage") return counted;
  if (counted.substr(0, kRequests.size()) != kRequests) return std::nullopt;
  counted.remove_prefix(kRequests.size());
  return counted;
}

const json* Field(const json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(name);
  return at == object.end() ? nullptr : &*at;
}

std::string TextOf(const json& amounts, const std::string& name) {
  const json* const amount = Field(amounts, name.c_str());
  return amount != nullptr && amount->is_string() ? amount->get<std::string>() : "";
}

bool HasScopes(const json& quota) {
  const json* const spec = Field(quota, "spec");
  if (spec == nullptr) return false;
  const json* const scopes = Field(*spec, "scopes");
  return (scopes != nullptr && !scopes->empty()) || Field(*spec, "scopeSelector") != nullptr;
}

}  // namespace

absl::Status CheckQuotas(const std::vector<kube::ObjectPtr>& quotas, const api::Pod& pod,
                         std::int64_t pods) {
  for (const kube::ObjectPtr& quota : quotas) {
    const json* const status = Field(*quota, "status");
    const json* const hard = status == nullptr ? nullptr : Field(*status, "hard");
    const json* const used = status == nullptr ? nullptr : Field(*status, "used");
    if (hard == nullptr || used == nullptr || !hard->is_object() || HasScopes(*quota)) continue;
    for (const auto& [name, limit] : hard->items()) {
      const auto resource = ResourceOf(name);
      if (!resource) continue;
      const bool is_cpu = *resource == kCpu;
      const std::int64_t of_pod =
          *resource == "pods" ? 1 : workload::AmountOf(pod.requests, *resource);
      const std::string limit_text = TextOf(*hard, name), used_text = TextOf(*used, name);
      const auto all = api::ParseQuantity(limit_text, is_cpu ? 1'000 : 1);
      const auto in_use = api::ParseQuantity(used_text, is_cpu ? 1'000 : 1);
      if (of_pod == 0 || !all.ok() || !in_use.ok()) continue;
      if (of_pod <= (*all - *in_use) / std::max<std::int64_t>(1, pods)) continue;
      return absl::PermissionDeniedError(StrCat("exceeded quota: ", kube::NameOf(*quota),
                                                ", requested: ", name, "=", of_pod,
                                                is_cpu ? "m" : "", ", used: ", name, "=", used_text,
                                                ", limited: ", name, "=", limit_text));
    }
  }
  return absl::OkStatus();
}

}  // namespace yardmaster::op
