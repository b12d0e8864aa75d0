#include "pkg/extender/ledger/gang_backoff.h"

#include "pkg/base/backoff.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::extender {

namespace {
constexpr BackoffLimits kTransient{250, 10'000};
constexpr BackoffLimits kDenied{500, 120'000};

// Also of a busy server, of an answer with an odd code (Unknown), and of a release that threw (Internal).
bool MaySucceedLater(const absl::Status& status) {
  return kube::IsTransient(status) || absl::IsResourceExhausted(status) ||
         absl::IsInternal(status) || absl::IsUnknown(status);
}
}  // namespace

void NoteFailure(PassState& pass, const NamespacedName& gang, const absl::Status& status) {
  if (kube::IsDenied(status)) {
    pass.failed[gang] = WriteFailure::kDenied;
  } else if (MaySucceedLater(status)) {
    pass.failed.emplace(gang, WriteFailure::kTransient);
  }
}

void GangBackoff::Begin(PassState& pass) {
  const std::int64_t now_ms = clock_.SteadyMs();
  for (const auto& [key, entry] : entries_) {
    if (entry.until_ms <= now_ms) continue;
    pass.backing_off.insert(key);
    pass.WakeIn(entry.until_ms - now_ms);
  }
}

void GangBackoff::End(PassState& pass) {
  std::erase_if(entries_, [&](const auto& entry) {
    return pass.backing_off.count(entry.first) == 0 && pass.failed.count(entry.first) == 0;
  });
  for (const auto& [key, failure] : pass.failed) {
    const auto [at, is_new] = entries_.try_emplace(key);
    Entry& entry = at->second;
    const bool denied = failure == WriteFailure::kDenied;
    if (!is_new || denied) {
      entry.wait_ms = NextDelayMs(entry.wait_ms, denied ? kDenied : kTransient);
    }
    entry.until_ms = clock_.SteadyMs() + entry.wait_ms;
    pass.WakeIn(entry.wait_ms);
  }
}

}  // namespace yardmaster::extender
