#include "pkg/extender/ledger/gang_backoff.h"

#include "pkg/base/backoff.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::extender {

namespace {
constexpr BackoffLimits kTransient{250, 10'000};
constexpr BackoffLimits kDenied{500, 120'000};

// Also of a busy server, of an answer with an odd code (Unknown), and of a write that threw
// (Internal).
bool MaySucceedLater(const absl::Status& status) {
  return kube::IsTransient(status) || absl::IsResourceExhausted(status) ||
         absl::IsInternal(status) || absl::IsUnknown(status);
}
}  // namespace

void GangBackoff::NoteFailure(const NamespacedName& gang, const absl::Status& status) {
  if (kube::IsDenied(status)) {
    failed_[gang] = Failure::kDenied;
  } else if (MaySucceedLater(status)) {
    failed_.emplace(gang, Failure::kTransient);
  }
}

const std::set<NamespacedName>& GangBackoff::Begin(PassReport& report) {
  const std::int64_t now_ms = clock_.SteadyMs();
  waiting_.clear();
  failed_.clear();
  for (const auto& [key, entry] : entries_) {
    if (entry.until_ms <= now_ms) continue;
    waiting_.insert(key);
    report.WakeIn(entry.until_ms - now_ms);
  }
  return waiting_;
}

void GangBackoff::End(PassReport& report) {
  std::erase_if(entries_, [&](const auto& entry) {
    return waiting_.count(entry.first) == 0 && failed_.count(entry.first) == 0;
  });
  for (const auto& [key, failure] : failed_) {
    const auto [at, is_new] = entries_.try_emplace(key);
    Entry& entry = at->second;
    const bool denied = failure == Failure::kDenied;
    if (!is_new || denied) {
      entry.wait_ms = NextDelayMs(entry.wait_ms, denied ? kDenied : kTransient);
    }
    entry.until_ms = clock_.SteadyMs() + entry.wait_ms;
    report.WakeIn(entry.wait_ms);
  }
}

}  // namespace yardmaster::extender
