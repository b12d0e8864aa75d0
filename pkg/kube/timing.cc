#include "pkg/kube/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

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

std::int64_t Backoff::NextMs() {
  const std::int64_t base = base_ms_;
  base_ms_ = std::min(base * 2, kMaxMs);
  return base + static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(base)));
}

RateLimiter::RateLimiter(double qps, int burst, const Clock& clock, Sleeper& sleeper)
    : qps_(qps),
      burst_(std::max(burst, 1)),
      clock_(clock),
      sleeper_(sleeper),
      tokens_(burst_),
      updated_ms_(clock.SteadyMs()) {}

absl::Status RateLimiter::Wait(std::int64_t deadline_ms, std::stop_token stop) {
  if (qps_ <= 0) return absl::OkStatus();
  std::int64_t wait_ms = 0;
  {
    MutexLock lock(mutex_);
    const std::int64_t now = clock_.SteadyMs();
    tokens_ = std::min(burst_, tokens_ + static_cast<double>(now - updated_ms_) * qps_ / 1000);
    updated_ms_ = now;
    if (tokens_ < 1) wait_ms = static_cast<std::int64_t>(std::ceil((1 - tokens_) * 1000 / qps_));
    if (now + wait_ms > deadline_ms) {
      return absl::DeadlineExceededError(StrCat("the client's own limit of ", qps_,
                                                " calls a second lets it through only in ", wait_ms,
                                                " ms; raise --kube-api-qps"));
    }
    tokens_ -= 1;
  }
  if (wait_ms > 0 && !sleeper_.Sleep(wait_ms, stop)) return absl::CancelledError("stopped");
  return absl::OkStatus();
}

}  // namespace yardmaster::kube
