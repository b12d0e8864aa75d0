#include "pkg/metrics/loop.h"

#include <algorithm>
#include <utility>

#include "pkg/base/backoff.h"
#include "pkg/base/status.h"

namespace yardmaster::metrics {

namespace {

constexpr BackoffLimits kPause{1'000, 60'000};

bool HasOnlyDefects(const RunResult& result) {
  return !result.ok() &&
         std::all_of(result.failures.begin(), result.failures.end(),
                     [](const RunFailure& failure) { return IsDefect(failure.error); });
}

}  // namespace

Loop::Loop(std::string name, Registry& registry, const Logger& log)
    : name_(std::move(name)),
      log_(log),
      runs_(registry.GetCounter("yardmaster_loop_runs_total", "runs of a loop of this process",
                                {{"loop", name_}})),
      failures_(registry.GetCounter("yardmaster_loop_failures_total",
                                    "objects, or whole runs, that a loop of this process failed at",
                                    {{"loop", name_}})) {}

RunResult Loop::RunOnce(absl::FunctionRef<RunResult()> run, const std::string& object) {
  RunResult result;
  const absl::Status contained = Contain([&] { result = run(); });
  runs_.Increment();
  if (!contained.ok()) result.Fail(object, contained);
  {
    const MutexLock lock(mutex_);
    pause_ms_ = HasOnlyDefects(result) ? NextDelayMs(pause_ms_, kPause) : 0;
    if (!result.ok()) result.Again(std::max(pause_ms_, kPause.first_ms));
  }
  if (result.ok()) return result;
  failures_.Increment(static_cast<double>(result.failures.size()));
  for (const RunFailure& failure : result.failures) {
    log_.Warn("run failed",
              {{"loop", name_}, {"object", failure.object}, {"error", MessageOf(failure.error)}});
  }
  return result;
}

}  // namespace yardmaster::metrics
