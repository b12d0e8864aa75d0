#include "pkg/kube/timing.h"

#include <algorithm>
#include <chrono>

#include "pkg/base/strings.h"

namespace yardmaster::kube {

bool RealSleeper::Sleep(std::int64_t ms, std::stop_token stop) {
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  never.wait_for(lock, stop, std::chrono::milliseconds(std::max<std::int64_t>(ms, 0)),
                 [&] { return stop.stop_requested(); });
  return !stop.stop_requested();
}

std::int64_t JitteredBackoff::NextMs() {
  last_ms_ = NextDelayMs(last_ms_, {800, 30'000});
  return last_ms_ + static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(last_ms_)));
}

RateLimiter::RateLimiter(double qps, int burst, const Clock& clock, Sleeper& sleeper)
    : qps_(qps), clock_(clock), sleeper_(sleeper), bucket_(qps > 0 ? qps : 1, std::max(burst, 1)) {}

absl::Status RateLimiter::Wait(std::int64_t deadline_ms, std::stop_token stop) {
  if (qps_ <= 0) return absl::OkStatus();
  std::int64_t wait_ms = 0;
  {
    MutexLock lock(mutex_);
    const std::int64_t now = clock_.SteadyMs();
    wait_ms = bucket_.Reserve(now, deadline_ms - now);
    if (now + wait_ms > deadline_ms) {
      return absl::DeadlineExceededError(StrCat("the client's own limit of ", qps_,
                                                " calls a second lets it through only in ", wait_ms,
                                                " ms; raise --kube-api-qps"));
    }
  }
  if (wait_ms > 0 && !sleeper_.Sleep(wait_ms, stop)) return absl::CancelledError("stopped");
  return absl::OkStatus();
}

}  // namespace yardmaster::kube
