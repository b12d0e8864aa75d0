// A bounded search with a judge around a schedule: enumeration where few judgements suffice, else a
// first-improvement local search over paths, levels and swaps of levels, with restarts from
// disturbed copies of the best. Works on jobs that could meet on some candidate path.
// Deterministic: ties go to the start. Thread safety: pure apart from the judge.
#pragma once

#include <cstdint>
#include <span>

#include "pkg/crux/judge.h"
#include "pkg/crux/problem.h"
#include "pkg/crux/search_state.h"

namespace yardmaster::crux {

struct RefineOptions {
  // Enumerate where this many judgements suffice, else search locally with as many.
  std::int64_t evaluations = 4000;
  // A gain below this share is not worth leaving the analytic plan,
  double min_gain = 1e-3;
  // nor one below this to move jobs that run and did not change (Options::previous).
  double moving_gain = 0.02;
  std::uint64_t seed = 1;
};

// Improves `state` for `jobs` by moving `movable` ones (a part of them, sorted); leaves it alone
// where they gain a smaller share than `gain`.
void Refine(const Problem& problem, std::span<const std::int32_t> jobs,
            std::span<const std::int32_t> movable, std::int32_t levels,
            const RefineOptions& options, double gain, GroupJudge& judge, SearchState& state);

}  // namespace yardmaster::crux
