#include "pkg/kube/lease_lock.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;

// A record that claims to be good for longer is not believed, or one bad write would stop
// all candidates.
constexpr std::int64_t kMaxForeignLeaseSeconds = 600;

std::string HolderOf(const json& lease) { return StringAt(lease, {"spec", "holderIdentity"}); }

std::int64_t IntAt(const json& lease, std::string_view field) {
  const json* value = FindAt(lease, {"spec", field});
  return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

}  // namespace

absl::Status ValidateLeaseOptions(const LeaseOptions& options) {
  if (options.ns.empty() || options.name.empty() || options.identity.empty()) {
    return FieldError("leader election", "namespace, lease name and identity must be set", "");
  }
  if (options.lease_duration_ms <= options.renew_deadline_ms) {
    return FieldError("leader-elect-lease-duration", "must be longer than the renew deadline",
                      StrCat("make it more than ", options.renew_deadline_ms, " ms"));
  }
  if (options.retry_period_ms <= 0 ||
      options.renew_deadline_ms * 10 <= options.retry_period_ms * 12) {
    return FieldError("leader-elect-renew-deadline", "must be more than 1.2 retry periods",
                      StrCat("make it more than ", options.retry_period_ms * 12 / 10, " ms"));
  }
  return absl::OkStatus();
}

LeaseLock::LeaseLock(Client& client, LeaseOptions options, const Clock& clock)
    : client_(client), options_(std::move(options)), clock_(clock) {}

bool LeaseLock::IsLeader() const { return FencingToken() != 0; }

std::int64_t LeaseLock::FencingToken() const {
  const std::int64_t token = token_.load();
  if (token <= token_floor_.load()) return 0;
  return clock_.SteadyMs() < valid_until_ms_.load() ? token : 0;
}

void LeaseLock::RequireTokenAbove(std::int64_t token) {
  std::int64_t floor = token_floor_.load();
  while (floor < token && !token_floor_.compare_exchange_weak(floor, token)) {
  }
}

std::int64_t LeaseLock::NextToken() const {
  return std::max(highest_seen_, token_floor_.load()) + 1;
}

absl::Status LeaseLock::Tick() {
  const std::int64_t started_ms = clock_.SteadyMs();
  // A hold that ran out is over, even if no other has taken it: a renewal now would be a new one.
  if (token_.load() != 0 && !IsLeader()) SetHold(0, 0);
  if (IsLeader() && lease_ != nullptr) {
    const absl::Status renewed = Write(*lease_, token_.load(), true, started_ms);
    if (!absl::IsAborted(renewed) && !absl::IsNotFound(renewed)) return renewed;
  }
  return AcquireOrRenew(started_ms);
}

absl::Status LeaseLock::AcquireOrRenew(std::int64_t started_ms) {
  absl::StatusOr<json> lease = client_.Get(target());
  if (absl::IsNotFound(lease.status())) {
    SetHold(0, 0);
    return Write(json(), NextToken(), false, started_ms);
  }
  YM_RETURN_IF_ERROR(lease.status());
  Observe(*lease);
  const bool mine = HolderOf(*lease) == options_.identity;
  if (mine && IsLeader() && IntAt(*lease, "leaseTransitions") == token_.load()) {
    return Write(*lease, token_.load(), true, started_ms);
  }
  SetHold(0, 0);
  const auto other_ends_ms = OtherHoldEndsMs();
  if (other_ends_ms && clock_.SteadyMs() < *other_ends_ms) return absl::OkStatus();
  return Write(*lease, NextToken(), false, started_ms);
}

absl::Status LeaseLock::Write(const json& base, std::int64_t transitions, bool renewal,
                              std::int64_t started_ms) {
  const std::string now = FormatMicroTime(clock_.WallMs());
  if (!renewal) acquire_time_ = now;
  json lease = base.is_object() ? base : json{{"metadata", {{"name", options_.name}}}};
  lease["apiVersion"] = Leases().ApiVersion();
  lease["kind"] = Leases().kind;
  lease["spec"]["holderIdentity"] = options_.identity;
  lease["spec"]["leaseDurationSeconds"] =
      std::max<std::int64_t>(options_.lease_duration_ms / 1000, 1);
  lease["spec"]["acquireTime"] = acquire_time_;
  lease["spec"]["renewTime"] = now;
  lease["spec"]["leaseTransitions"] = transitions;
  absl::StatusOr<json> written = base.is_object() ? client_.Replace(target(), lease)
                                                  : client_.Create({Leases(), options_.ns}, lease);
  // Another candidate was faster: nothing is wrong.
  if (!renewal && (absl::IsAborted(written.status()) || absl::IsAlreadyExists(written.status()))) {
    return absl::OkStatus();
  }
  YM_RETURN_IF_ERROR(written.status());
  Observe(*written);
  SetHold(transitions, started_ms + options_.renew_deadline_ms);
  return absl::OkStatus();
}

absl::Status LeaseLock::Release() {
  if (token_.load() == 0 || lease_ == nullptr) return absl::OkStatus();
  json lease = *lease_;
  SetHold(0, 0);
  if (HolderOf(lease) != options_.identity) return absl::OkStatus();
  lease["spec"]["holderIdentity"] = "";
  lease["spec"]["leaseDurationSeconds"] = 1;
  lease["spec"]["renewTime"] = FormatMicroTime(clock_.WallMs());
  YM_ASSIGN_OR_RETURN(json written, client_.Replace(target(), lease));
  Observe(written);
  return absl::OkStatus();
}

void LeaseLock::Observe(const json& lease) {
  if (lease_ == nullptr || lease_->value("spec", json()) != lease.value("spec", json())) {
    observed_at_ms_ = clock_.SteadyMs();
  }
  lease_ = std::make_shared<const json>(lease);
  highest_seen_ = std::max(highest_seen_, IntAt(lease, "leaseTransitions"));
}

std::optional<std::int64_t> LeaseLock::OtherHoldEndsMs() const {
  if (lease_ == nullptr) return std::nullopt;
  const std::string holder = HolderOf(*lease_);
  if (holder.empty() || holder == options_.identity) return std::nullopt;
  const std::int64_t theirs =
      std::min(IntAt(*lease_, "leaseDurationSeconds"), kMaxForeignLeaseSeconds);
  return observed_at_ms_ + std::max(options_.lease_duration_ms, theirs * 1000);
}

void LeaseLock::SetHold(std::int64_t token, std::int64_t valid_until_ms) {
  // Readers that see the new token must not see the old, longer validity with it.
  if (token == 0) {
    token_ = 0;
    valid_until_ms_ = 0;
  } else {
    valid_until_ms_ = valid_until_ms;
    token_ = token;
  }
}

}  // namespace yardmaster::kube
