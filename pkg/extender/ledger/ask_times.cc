#include "pkg/extender/ledger/ask_times.h"

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
constexpr int kMaxQuestions = 16;

}  // namespace

void AskTimes::Begin() {
  ++round_;
  left_ = kMaxQuestions;
  turn_ms_ = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> due;
  for (const auto& [key, asked] : asked_) {
    if (asked.next_ms <= clock_.SteadyMs()) due.push_back(asked.next_ms);
  }
  if (due.size() <= kMaxQuestions) return;
  std::nth_element(due.begin(), due.begin() + kMaxQuestions - 1, due.end());
  turn_ms_ = due[kMaxQuestions - 1];
}

void AskTimes::End() {
  std::erase_if(asked_, [this](const auto& entry) { return entry.second.round != round_; });
}

bool AskTimes::IsDue(PassState& pass, const NamespacedName& key) {
  const auto at = pass.gathered.find(key);
  std::shared_ptr<const GatheredGang> pods = at == pass.gathered.end() ? nullptr : at->second;
  const auto [entry, is_new] = asked_.try_emplace(key);
  Asked& asked = entry->second;
  asked.round = round_;
  const std::int64_t now_ms = clock_.SteadyMs();
  if (is_new || asked.pods != pods) {
    asked = {std::move(pods), now_ms, kAskAgain.first_ms, round_};
  }
  if (asked.next_ms > now_ms) {
    pass.WakeIn(asked.next_ms - now_ms);
    return false;
  }
  if (left_ == 0 || asked.next_ms > turn_ms_) {
    pass.WakeIn(0);
    return false;
  }
  --left_;
  asked.next_ms = now_ms + asked.wait_ms;
  pass.WakeIn(asked.wait_ms);
  asked.wait_ms = NextDelayMs(asked.wait_ms, kAskAgain);
  return true;
}

}  // namespace yardmaster::extender
