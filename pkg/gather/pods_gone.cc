#include "pkg/gather/pods_gone.h"

#include <algorithm>

namespace yardmaster::gather {

namespace {

constexpr std::int64_t kMinMs = 15'000;
constexpr std::int64_t kMaxMs = 60'000;
constexpr std::int64_t kMaxAfterLossMs = 300'000;

}  // namespace

std::optional<std::int64_t> PodsGoneSinceMs(const api::GangStatus& status, std::int64_t now_ms) {
  const api::Condition* gone = api::FindCondition(status.conditions, api::kPodsGoneCondition);
  const bool holds = gone != nullptr && gone->status == api::ConditionStatus::kTrue;
  return holds && gone->transition_ms <= now_ms ? std::optional(gone->transition_ms) : std::nullopt;
}

bool WentAfterLoss(const api::GangStatus& status) {
  const api::Condition* gone = api::FindCondition(status.conditions, api::kPodsGoneCondition);
  if (gone != nullptr && gone->status == api::ConditionStatus::kTrue) {
    return gone->reason == kPodsGoneAfterLoss;
  }
  return api::IsTrue(status.conditions, api::kDegradedCondition);
}

std::int64_t KeepsHostsForMs(const api::GangStatus& status, std::int64_t gone_ms) {
  return std::clamp(gone_ms - status.committed_ms, kMinMs,
                    WentAfterLoss(status) ? kMaxAfterLossMs : kMaxMs);
}

}  // namespace yardmaster::gather
