#include "pkg/app/host_loop.h"

#include <algorithm>
#include <string>

#include "pkg/app/round_schedule.h"
#include "pkg/base/status.h"

namespace yardmaster::app {

namespace {

constexpr std::int64_t kHostsFollowMs = 1'000;
constexpr std::int64_t kHostsPauseMs = 1'000;  // after an error
constexpr std::int64_t kHostsResyncMs = 60'000;
constexpr std::int64_t kSweepEveryMs = 60'000;

}  // namespace

void HostLoop::Sweep(std::int64_t now_ms) {
  if (now_ms < next_sweep_ms_) return;
  next_sweep_ms_ = now_ms + kSweepEveryMs;
  const absl::Status swept = capacity_.Sweep();
  if (!swept.ok()) runtime_.log().Warn("sweep", {{"error", MessageOf(swept)}});
}

void HostLoop::Run(const std::stop_token& stop) {
  const metrics::Gauge quarantined = runtime_.registry().GetGauge(
      "yardmaster_operator_quarantined_hosts", "hosts that are quarantined for worker failures");
  const metrics::Gauge fenced = runtime_.registry().GetGauge(
      "yardmaster_operator_fenced_hosts", "lost hosts with the operator's out-of-service taint");
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
    if (!leadership_.IsLeader()) {
      schedule.Again(now_ms + kFollowerRetryMs);
      continue;
    }
    Sweep(now_ms);
    const op::HostMarker::Report report = marker_.Round(runtime_.clock().WallMs());
    quarantined.Set(report.quarantined);
    fenced.Set(report.fenced);
    if (!report.errors.empty()) schedule.Again(now_ms + kHostsPauseMs);
    if (report.again_ms >= 0) schedule.Again(now_ms + report.again_ms);
    for (const std::string& error : report.errors) runtime_.log().Warn("write", {{"error", error}});
  }
}

}  // namespace yardmaster::app
