#include "pkg/operator/jobs/refusal_reason.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/quantity.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::op {

namespace {

constexpr std::string_view kNotCounted = "status unknown for quota";
constexpr std::string_view kExceeded = "exceeded quota: ";
constexpr std::string_view kRequested = ", requested: ";
constexpr std::string_view kUsed = ", used: ";
constexpr std::string_view kLimited = ", limited: ";

// "exceeded quota: q, requested: pods=1,a/b=8, used: ..., limited: ...": amounts as they are
// written, by resource.
struct Excess {
  std::string quota;
  std::map<std::string, std::string> requested, used, limited;
};

std::map<std::string, std::string> AmountsIn(std::string_view list) {
  std::map<std::string, std::string> amounts;
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos) {
      amounts.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
  }
  return amounts;
}

// What stands in `text` from the end of `begin` to `end`, and is cut off with both; an empty `end`:
// to the first blank or semicolon.
std::optional<std::string_view> Cut(std::string_view& text, std::string_view begin,
                                    std::string_view end) {
  const std::size_t from = text.find(begin);
  if (from == std::string_view::npos) return std::nullopt;
  text.remove_prefix(from + begin.size());
  const std::size_t to =
      end.empty() ? std::min(text.find_first_of(" ;"), text.size()) : text.find(end);
  if (to == std::string_view::npos) return std::nullopt;
  const std::string_view between = text.substr(0, to);
  text.remove_prefix(to);
  return between;
}

std::optional<Excess> ExcessIn(std::string_view text) {
  const auto quota = Cut(text, kExceeded, kRequested);
  const auto requested = quota ? Cut(text, kRequested, kUsed) : std::nullopt;
  const auto used = requested ? Cut(text, kUsed, kLimited) : std::nullopt;
  const auto limited = used ? Cut(text, kLimited, "") : std::nullopt;
  if (!limited) return std::nullopt;
  return Excess{std::string(*quota), AmountsIn(*requested), AmountsIn(*used), AmountsIn(*limited)};
}

// An amount in the unit of `like`, if it is a whole number of it, else without a unit.
std::string AmountLike(std::string_view like, std::int64_t amount, int scale) {
  const std::size_t digits = like.find_first_not_of("+0123456789.");
  const std::string_view unit = digits == std::string_view::npos ? "" : like.substr(digits);
  const auto size = api::ParseQuantity(StrCat("1", unit), scale);
  if (size.ok() && *size > 0 && amount % *size == 0) return StrCat(amount / *size, unit);
  if (amount % scale == 0) return StrCat(amount / scale);
  return StrCat(amount, "m");
}

struct Shortage {
  std::string text;
  bool for_ever = false;  // the job alone is more than the quota
};

std::optional<Shortage> ShortageOf(const Excess& excess, const std::string& resource,
                                   const PodsOfTry& pods) {
  const auto amount = [&](const std::map<std::string, std::string>& amounts) {
    const auto at = amounts.find(resource);
    return at == amounts.end() ? std::string("0") : at->second;
  };
  const std::string of_pod = amount(excess.requested), used = amount(excess.used),
                    limit = amount(excess.limited);
  const bool milli = of_pod.ends_with('m') || used.ends_with('m') || limit.ends_with('m');
  const int scale = milli ? 1'000 : 1;
  const auto a_pod = api::ParseQuantity(of_pod, scale), in_use = api::ParseQuantity(used, scale),
             all = api::ParseQuantity(limit, scale);
  if (!a_pod.ok() || !in_use.ok() || !all.ok()) return std::nullopt;
  const std::int64_t wanted = *a_pod * pods.wanted;
  const std::int64_t others = std::max<std::int64_t>(0, *in_use - *a_pod * pods.made);
  if (wanted + others <= *all) return std::nullopt;
  const auto text = [&](std::int64_t value) { return AmountLike(limit, value, scale); };
  const std::string need =
      StrCat(Count(pods.wanted, "pod"), pods.wanted == 1 ? " needs " : " need ", text(wanted));
  if (wanted > *all) {
    return Shortage{StrCat(resource, ": ", need, ", and the quota is ", limit, " in all"), true};
  }
  return Shortage{StrCat(resource, " is short of ", text(wanted + others - *all), ": ", need,
                         ", and others use ", text(others), " of ", limit)};
}

}  // namespace

bool IsRefusal(const absl::Status& status) {
  if (status.ok()) return false;
  if (kube::IsDenied(status)) return true;
  // A webhook chooses the code of its answer, and one that cannot be called is an error of the
  // server.
  const std::string text = MessageOf(status);
  return text.find("admission webhook") != std::string::npos ||
         text.find("failed calling webhook") != std::string::npos;
}

StallReason RefusalReason(const absl::Status& status, const PodsOfTry& pods) {
  const std::string text = MessageOf(status);
  if (text.find(kNotCounted) != std::string::npos) {
    return {kQuotaExceeded, StrCat("spec.template: ", text,
                                   "; the quota is new and has not been counted yet, and the job "
                                   "is tried again")};
  }
  if (text.find(kExceeded) == std::string::npos) {
    return {kPodsRefused, StrCat("spec.template: ", text, "; change what the message names")};
  }
  std::vector<std::string> shortages;
  bool for_ever = false;
  const auto excess = ExcessIn(text);
  if (excess) {
    for (const auto& [resource, requested] : excess->requested) {
      if (const auto shortage = ShortageOf(*excess, resource, pods)) {
        shortages.push_back(shortage->text);
        for_ever |= shortage->for_ever;
      }
    }
  }
  // Room that has come since, or a text of another form.
  if (shortages.empty()) {
    return {kQuotaExceeded,
            StrCat("spec.template: ", text, "; raise the quota or make the job smaller")};
  }
  return {kQuotaExceeded,
          StrCat("spec.template: ResourceQuota ", excess->quota, ": ", Join(shortages, "; "),
                 for_ever ? "; raise the quota or make the job smaller"
                          : "; the job is tried again when pods of the namespace end; wait for "
                            "that, or raise the quota")};
}

}  // namespace yardmaster::op
