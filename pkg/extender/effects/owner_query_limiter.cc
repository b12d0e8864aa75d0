#include "pkg/extender/effects/owner_query_limiter.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "pkg/base/backoff.h"

namespace yardmaster::extender {

namespace {

// The first look comes at once: the controller that removed the pods has seen why. A second one
// catches controllers that write their status after they removed the pods.
constexpr BackoffLimits kAskAgain{250, 10'000};

}  // namespace

void OwnerQueryLimiter::Begin() {
  ++round_;
  left_ = per_pass_;
  turn_ms_ = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> due;
  for (const auto& [key, asked] : asked_) {
    if (asked.next_ms <= clock_.SteadyMs()) due.push_back(asked.next_ms);
  }
  if (due.size() <= per_pass_) return;
  const auto last = due.begin() + static_cast<std::ptrdiff_t>(per_pass_ - 1);
  std::nth_element(due.begin(), last, due.end());
  turn_ms_ = *last;
}

void OwnerQueryLimiter::End() {
  std::erase_if(asked_, [this](const auto& entry) { return entry.second.round != round_; });
}

bool OwnerQueryLimiter::IsDue(const NamespacedName& gang,
                              std::shared_ptr<const gather::GatheredGang> pods,
                              PassReport& report) {
  const auto [entry, is_new] = asked_.try_emplace(gang);
  Asked& asked = entry->second;
  asked.round = round_;
  const std::int64_t now_ms = clock_.SteadyMs();
  if (is_new || asked.pods != pods) {
    asked = {std::move(pods), now_ms, kAskAgain.first_ms, round_};
  }
  if (asked.next_ms > now_ms) {
    report.WakeIn(asked.next_ms - now_ms);
    return false;
  }
  if (left_ == 0 || asked.next_ms > turn_ms_) {
    report.WakeIn(0);
    return false;
  }
  --left_;
  asked.next_ms = now_ms + asked.wait_ms;
  report.WakeIn(asked.wait_ms);
  asked.wait_ms = NextDelayMs(asked.wait_ms, kAskAgain);
  return true;
}

}  // namespace yardmaster::extender
