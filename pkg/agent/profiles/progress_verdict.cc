#include "pkg/agent/profiles/progress_verdict.h"

#include <algorithm>

namespace yardmaster::agent {

namespace {

constexpr double kMissedIterations = 1.5;

std::int64_t Times(double factor, std::int64_t ms) {
  return static_cast<std::int64_t>(factor * static_cast<double>(ms));
}

}  // namespace

std::optional<api::ProgressState> AssessProgress(const ProgressFacts& facts,
                                                 const std::optional<ProcessSummary>& processes,
                                                 const ProgressLimits& limits) {
  if (!facts.armed || (processes && processes->restarted)) return std::nullopt;
  std::int64_t limit_ms =
      std::max({limits.min_wait_ms, Times(limits.iterations, facts.iteration_ms),
                Times(limits.pauses, facts.longest_pause_ms)});
  if (processes && processes->activity == api::ProcessActivity::kStopped) {
    limit_ms = std::min(limit_ms,
                        std::max(limits.stopped_ms, Times(kMissedIterations, facts.iteration_ms)));
  }
  return facts.quiet_ms >= limit_ms ? api::ProgressState::kWaiting
                                    : api::ProgressState::kProgressing;
}

}  // namespace yardmaster::agent
