// The starvation guard: strict priorities can keep a job of the lowest level waiting without a
// bound (the paper reports losses of up to 55.5 % there). A job whose share of its ideal rate stays
// below `min_share` for `patience_seconds` is lifted one usable level for `lift_seconds`. If it
// stays below for another `patience_seconds` while lifted, it is lifted another level and
// `lift_seconds` begin again. When they end the job returns to its planned level and waits
// `patience_seconds` again before the next lift.
//
// A share is measured or predicted (`PredictedShares`), rate over the rate without contention.
// Hysteresis: the wait for a lift runs while the share is below min_share, is reset at or above
// `recovered_share`, and stands still in between. An unknown share does not change the wait.
//
// A lifted job may stand above jobs of higher priority, so the levels that result need not be a
// valid compression. Reserved levels are never used.
//
// Time is an argument and may be any monotonic count of seconds; a step back is treated as no time.
// Deterministic, no failure. Thread safety: pure functions and values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct StarvationOptions {
  double min_share = 0.5;
  double recovered_share = 0.6;
  double patience_seconds = 60;
  double lift_seconds = 300;
};

// What has to be kept of a job from one step to the next. A new job starts with the default.
struct StarvationState {
  std::optional<double> seen_seconds;  // time of the last step
  double below_seconds = 0;            // waited for the next lift so far
  std::int32_t lifted = 0;             // usable levels above the planned one
  double lift_ends_seconds = 0;        // while lifted > 0
  // Below min_share at the last step with a known share; false again after a lift ended.
  bool starving = false;
  bool operator==(const StarvationState&) const = default;
};

struct StarvationSample {
  double now_seconds = 0;
  std::int32_t planned_level = 0;  // what the planner gave
  std::optional<double> share;     // of the ideal rate, at the level that holds now
};

enum class StarvationEvent { kNone, kLifted, kReleased };

struct StarvationStep {
  StarvationState state;
  std::int32_t level = 0;  // to be written instead of the planned one
  StarvationEvent event = StarvationEvent::kNone;
  // When the lift ends; until then only a new share can change the answer. Absent: the job is not
  // lifted.
  std::optional<double> look_again_seconds;
};

// One step of one job. `usable` are the levels that may be handed out, rising (UsableLevels in
// decide.h). A planned level that is not among them is returned as it is.
StarvationStep StepStarvation(const StarvationState& state, const StarvationSample& sample,
                              std::span<const std::int32_t> usable,
                              const StarvationOptions& options = {});

// Each job's share of its ideal rate as a fluid sees it, where nothing is measured: a link gives a
// job what the jobs of higher levels leave (each busy for its seconds once an iteration) and a fair
// part of its own level. The model has no phases, so it is pessimistic for jobs that interleave.
// Levels are those of `solution`, or `levels` where that is not empty. In [0, 1].
// Complexity: O(links used by all jobs * rounds).
std::vector<double> PredictedShares(const Problem& problem, const Solution& solution,
                                    std::span<const std::int32_t> levels = {});

}  // namespace yardmaster::crux
