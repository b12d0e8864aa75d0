#include "pkg/operator/jobs/quota_check.h"

#include <optional>
#include <string_view>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/quantity.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/workload/resources.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

kube::Resource ResourceQuotas() { return {"", "v1", "resourcequotas", "ResourceQuota", true}; }

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

absl::StatusOr<QuotaReader::Quotas> QuotaReader::Read(const std::string& namespace_name) {
  const std::int64_t now_ms = clock_.SteadyMs();
  {
    const MutexLock lock(mutex_);
    std::erase_if(known_,
                  [&](const auto& known) { return known.second.time_ms + kQuotasMs <= now_ms; });
    const auto known = known_.find(namespace_name);
    if (known != known_.end()) return known->second.quotas;
  }
  YM_ASSIGN_OR_RETURN(auto listed,
                      kube::ListAll(client_, {ResourceQuotas(), namespace_name, "", ""}));
  auto quotas = std::make_shared<const std::vector<kube::ObjectPtr>>(std::move(listed));
  const MutexLock lock(mutex_);
  // As old as its question.
  known_.insert_or_assign(namespace_name, Known{quotas, now_ms});
  return quotas;
}

void QuotaReader::Drop(const std::string& namespace_name) {
  const MutexLock lock(mutex_);
  known_.erase(namespace_name);
}

}  // namespace yardmaster::op
