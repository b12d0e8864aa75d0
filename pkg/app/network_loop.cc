#include "pkg/app/network_loop.h"

#include <algorithm>
#include <utility>

#include "pkg/operator/network/network_metrics.h"

namespace yardmaster::app {

namespace {

// Reports over the agents' streams do not wake the thread that waits for the cache: it looks this
// often.
constexpr std::int64_t kLiveLinksPollMs = 50;
// Levels and ports are looked at this often even when nothing changed (path plans grow old).
constexpr std::int64_t kNetworkResyncMs = 60'000;
// Network annotations that the write limit defers go out this often.
constexpr std::int64_t kDeferredWritesMs = 250;
// Pods that wait for their first plan get it after this time although other objects go on changing.
constexpr std::int64_t kWaitingPodsMs = 100;

}  // namespace

NetworkLoop::NetworkLoop(const NetworkDelays& delays, op::NetworkController& network,
                         const state::ClusterCache& cache, const op::PlanWaiters& waiters,
                         const ReportIntake& reports, const Leadership& leadership,
                         PagePublisher& page, Runtime& runtime)
    : network_(network),
      cache_(cache),
      waiters_(waiters),
      reports_(reports),
      leadership_(leadership),
      page_(page),
      runtime_(runtime),
      loop_("network", runtime.registry(), runtime.log()),
      schedule_({.quiet_ms = delays.min_ms,
                 .max_delay_ms = delays.max_ms,
                 .resync_ms = kNetworkResyncMs}) {}

// Each input problem is logged when it begins, not with every round.
void NetworkLoop::LogProblems(const std::vector<std::string>& problems) {
  std::set<std::string> now(problems.begin(), problems.end());
  for (const std::string& problem : now) {
    if (logged_problems_.count(problem) == 0) runtime_.log().Warn("input", {{"problem", problem}});
  }
  logged_problems_ = std::move(now);
}

std::int64_t NetworkLoop::WaitMs() const {
  const std::int64_t now_ms = runtime_.clock().SteadyMs();
  std::int64_t wait_ms = schedule_.WaitMs(now_ms);
  if (reports_.serves()) wait_ms = std::min(wait_ms, kLiveLinksPollMs);
  if (network_.HasDeferred()) wait_ms = std::min(wait_ms, write_at_ms_ - now_ms);
  return std::max<std::int64_t>(1, wait_ms);
}

// Waits for a change, or until something is due, and tells the schedule what has changed.
void NetworkLoop::Await(const std::stop_token& stop) {
  const Seen before = seen_;
  seen_.objects = cache_.WaitForChange(before.objects, WaitMs(), stop);
  seen_.links = reports_.links().version();
  seen_.waiting = waiters_.counts();
  const std::int64_t now_ms = runtime_.clock().SteadyMs();
  if (seen_.objects != before.objects) schedule_.Changed(now_ms);
  // Traffic stands still.
  if (seen_.links != before.links ||
      seen_.waiting.blocked_released_gangs != before.waiting.blocked_released_gangs) {
    schedule_.Urgent(now_ms);
  }
  if (seen_.waiting != before.waiting) {
    schedule_.RequestAt(now_ms + kWaitingPodsMs);
    schedule_.ShortenPause();
  }
}

RunResult NetworkLoop::WriteDeferred() {
  const op::WriteResult written = network_.WriteDeferred();
  op::ReportWrites(written, runtime_.registry());
  return written;
}

void NetworkLoop::WriteLater() {
  const std::int64_t pause_ms = network_.HasWaiting() ? 0 : kDeferredWritesMs;
  write_at_ms_ = runtime_.clock().SteadyMs() + pause_ms;
}

RunResult NetworkLoop::RunOnce(std::int64_t now_ms) {
  const op::RoundReport report = network_.RunOnce();
  const std::int64_t end_ms = runtime_.clock().SteadyMs();
  schedule_.End(end_ms, report.waited_ms);
  op::ReportRound(report, static_cast<double>(end_ms - now_ms) / 1000.0, runtime_.registry());
  LogProblems(report.problems);
  return report;
}

void NetworkLoop::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Await(stop);
    if (stop.stop_requested()) return;
    const std::int64_t now_ms = runtime_.clock().SteadyMs();
    const bool due = schedule_.WaitMs(now_ms) == 0;
    if (!due && (now_ms < write_at_ms_ || !network_.HasDeferred())) continue;
    if (due) schedule_.Begin(now_ms);
    if (!leadership_.IsLeader()) {
      network_.Forget();
      page_.SetPicture(nullptr);
      schedule_.RequestAt(now_ms + kFollowerRetryMs);  // this process may lead by then
      continue;
    }
    const RunResult result = loop_.RunOnce([&] { return due ? RunOnce(now_ms) : WriteDeferred(); });
    if (BrokeOff(result)) network_.Reset();
    schedule_.Take(result, runtime_.clock().SteadyMs());
    WriteLater();
  }
}

}  // namespace yardmaster::app
