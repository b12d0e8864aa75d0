#include "pkg/operator/jobs/quota_check.h"

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

// What a quota says of one name that it counts.
struct Counted {
  std::string quota, name, resource, used_text, limit_text;
  std::int64_t used = 0, limit = 0;  // of cores thousandths

  std::int64_t OfPod(const api::Pod& pod) const {
    return resource == "pods" ? 1 : workload::AmountOf(pod.requests, resource);
  }
  std::string TextOf(std::int64_t amount) const {
    return StrCat(amount, resource == kCpu ? "m" : "");
  }
};

std::vector<Counted> CountedBy(const json& quota) {
  std::vector<Counted> all;
  const json* const status = Field(quota, "status");
  const json* const hard = status == nullptr ? nullptr : Field(*status, "hard");
  const json* const used = status == nullptr ? nullptr : Field(*status, "used");
  if (hard == nullptr || used == nullptr || !hard->is_object() || HasScopes(quota)) return all;
  for (const auto& item : hard->items()) {
    const auto resource = ResourceOf(item.key());
    if (!resource) continue;
    const int scale = *resource == kCpu ? 1'000 : 1;
    Counted one{kube::NameOf(quota), item.key(), std::string(*resource), TextOf(*used, item.key()),
                TextOf(*hard, item.key())};
    const auto limit = api::ParseQuantity(one.limit_text, scale);
    const auto in_use = api::ParseQuantity(one.used_text, scale);
    if (!limit.ok() || !in_use.ok()) continue;
    one.limit = *limit;
    one.used = *in_use;
    all.push_back(std::move(one));
  }
  return all;
}

std::optional<QuotaRefusal> Refusal(const Counted& counted, const std::vector<AlikePods>& pods) {
  std::int64_t before = 0;  // of ours, at most limit - used
  for (const AlikePods& alike : pods) {
    const std::int64_t of_pod = counted.OfPod(*alike.pod);
    const std::int64_t count = std::max<std::int64_t>(1, alike.count);
    if (of_pod == 0) continue;
    if (of_pod <= (counted.limit - counted.used - before) / count) {
      before += of_pod * count;
      continue;
    }
    const std::string used =
        before == 0 ? counted.used_text : counted.TextOf(counted.used + before);
    return QuotaRefusal{absl::PermissionDeniedError(
                            StrCat("exceeded quota: ", counted.quota, ", requested: ", counted.name,
                                   "=", counted.TextOf(of_pod), ", used: ", counted.name, "=", used,
                                   ", limited: ", counted.name, "=", counted.limit_text)),
                        alike.count};
  }
  return std::nullopt;
}

}  // namespace

std::optional<QuotaRefusal> CheckQuotas(const std::vector<kube::ObjectPtr>& quotas,
                                        const std::vector<AlikePods>& pods) {
  for (const kube::ObjectPtr& quota : quotas) {
    for (const Counted& counted : CountedBy(*quota)) {
      if (auto refusal = Refusal(counted, pods)) return refusal;
    }
  }
  return std::nullopt;
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
