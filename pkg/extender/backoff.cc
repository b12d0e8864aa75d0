#include "pkg/extender/backoff.h"

#include <algorithm>

namespace yardmaster::extender {

namespace {
constexpr std::int64_t kFirstWaitMs = 500;
constexpr std::int64_t kMaxWaitMs = 120'000;
}  // namespace

void Backoff::Begin(PassState& pass) {
  const std::int64_t now_ms = clock_.SteadyMs();
  for (const auto& [key, entry] : entries_) {
    if (entry.until_ms <= now_ms) continue;
    pass.backing_off.insert(key);
    pass.WakeIn(entry.until_ms - now_ms);
  }
}

void Backoff::End(PassState& pass) {
  std::erase_if(entries_, [&](const auto& entry) {
    return pass.backing_off.count(entry.first) == 0 && pass.failed.count(entry.first) == 0;
  });
  for (const NameKey& key : pass.failed) {
    Entry& entry = entries_[key];
    entry.wait_ms = std::clamp(entry.wait_ms * 2, kFirstWaitMs, kMaxWaitMs);
    entry.until_ms = clock_.SteadyMs() + entry.wait_ms;
    pass.WakeIn(entry.wait_ms);
  }
}

}  // namespace yardmaster::extender
