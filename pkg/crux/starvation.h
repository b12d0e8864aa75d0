// Guards against starvation: with strict priorities, a job of the lowest level can wait without a
// bound (the paper reports losses of up to 55.5 %).
//
//   - If the rate of a job stays below `min_share` of its rate without contention for
//     `patience_seconds`, it is lifted by one usable level for `lift_seconds`.
//   - If it stays below for another `patience_seconds` while lifted, it is lifted by another level,
//     and `lift_seconds` start again.
//   - When the lift ends the job returns to its planned level, and waits `patience_seconds` before
//     the next lift.
//   - Hysteresis: the wait advances while the share is below min_share, is reset at or above
//     `recovered_share`, and pauses in between. An unknown share does not change it.
//   - Shares are measured or predicted (PredictedShares).
//
// A lifted job may be above jobs of higher priority, so the levels may be an invalid compression.
// Reserved levels are never used.
//
// Time is an argument: any monotonic count of seconds. A step back counts as no time.
// Deterministic; does not fail. Thread safety: pure functions and values.
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

// The state of a job between steps. A new job starts with the default.
struct StarvationState {
  std::optional<double> seen_seconds;  // time of the last step
  double below_seconds = 0;            // time waited for the next lift
  std::int32_t lifted = 0;             // usable levels above the planned one
  double lift_ends_seconds = 0;        // while lifted > 0
  // The last known share was below min_share; false again after a lift has ended.
  bool starving = false;
  bool operator==(const StarvationState&) const = default;
};

struct StarvationSample {
  double now_seconds = 0;
  std::int32_t planned_level = 0;  // the level in the plan
  std::optional<double> share;     // of the rate without contention, at the present level
};

enum class StarvationEvent { kNone, kLifted, kReleased };

struct StarvationStep {
  StarvationState state;
  std::int32_t level = 0;  // replaces the planned level
  StarvationEvent event = StarvationEvent::kNone;
  // When the lift ends. Until then only a new share can change the result. Absent: the job is not
  // lifted.
  std::optional<double> look_again_seconds;
};

// One step of one job. `usable`: the levels that may be assigned, ascending (UsableLevels in
// decide.h). A planned level that is not usable is returned unchanged.
StarvationStep StepStarvation(const StarvationState& state, const StarvationSample& sample,
                              std::span<const std::int32_t> usable,
                              const StarvationOptions& options = {});

// Predicts the fraction of its rate without contention that each job gets, in [0, 1], by a fluid
// model. A link gives a job what the jobs of higher levels leave (each busy for its seconds once
// per iteration), and a fair part within its level. The model has no phases, so it is pessimistic
// for jobs that interleave. `levels`: replaces the levels of `solution` unless empty. Complexity:
// O(links used by all jobs * rounds).
std::vector<double> PredictedShares(const Problem& problem, const Solution& solution,
                                    std::span<const std::int32_t> levels = {});

}  // namespace yardmaster::crux
