#include "pkg/app/host_loop.h"

#include <algorithm>

#include "pkg/app/round_schedule.h"

namespace yardmaster::app {

namespace {

constexpr std::int64_t kHostsFollowMs = 1'000;
constexpr std::int64_t kHostsResyncMs = 60'000;
constexpr std::int64_t kSweepEveryMs = 60'000;

}  // namespace

void HostLoop::Sweep(std::int64_t now_ms, RunResult& result) {
  if (now_ms < next_sweep_ms_) return;
  next_sweep_ms_ = now_ms + kSweepEveryMs;
  result.Fail("rentals", Contain([this] { return capacity_.Sweep(); }));
}

RunResult HostLoop::RunOnce(std::int64_t now_ms) {
  op::HostMarker::Report report = marker_.RunOnce(runtime_.clock().WallMs());
  quarantined_.Set(report.quarantined);
  fenced_.Set(report.fenced);
  Sweep(now_ms, report);
  return report;
}

void HostLoop::Run(const std::stop_token& stop) {
  RoundSchedule schedule(
      {.quiet_ms = kHostsFollowMs, .max_delay_ms = kHostsFollowMs, .resync_ms = kHostsResyncMs});
  std::uint64_t seen = 0;
  while (!stop.stop_requested()) {
    const std::int64_t wait_ms = schedule.WaitMs(runtime_.clock().SteadyMs());
    const std::uint64_t now_seen =
        cache_.WaitForChange(seen, std::max<std::int64_t>(1, wait_ms), stop);
    const std::int64_t now_ms = runtime_.clock().SteadyMs();
    if (now_seen != seen) schedule.Changed(now_ms);
    seen = now_seen;
    if (schedule.WaitMs(now_ms) > 0 || stop.stop_requested()) continue;
    schedule.Begin(now_ms);
    if (leadership_.IsLeader()) {
      schedule.Take(loop_.RunOnce([&] { return RunOnce(now_ms); }), now_ms);
    } else {
      schedule.RequestAt(now_ms + kFollowerRetryMs);
    }
  }
}

}  // namespace yardmaster::app
