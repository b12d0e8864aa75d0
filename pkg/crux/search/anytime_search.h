// A search around a schedule of few jobs that may be stopped at any time: it keeps the best
// schedule found so far, and ends when the event budget is exhausted, when the schedule is at the
// bound, or when a pass over all moves gains nothing.
//
// It simulates these schedules (schedule_evaluator.h), as many as the budget pays for:
//   1. the schedule it is given;
//   2. the most promising combinations of paths (path_variants.h), each with the levels that the
//      priority rule gives it; where jobs run, also the paths that all of them would choose again;
//   3. from the best of those, moves of one job to another level or other paths and exchanges of
//      two jobs' levels, taking each improvement found, until none is left; then from the next
//      best, from at most `max_descents` in all.
// The value of a schedule is the FLOP/s of the jobs, less what it costs to move running jobs
// (MoveCosts). It is at the bound when it is within 0.05 % of the best bound of all combinations of
// paths (path_variants.h), or, where those are too many, of what the jobs do without contention.
//
// Deterministic. The result is never worth less than the schedule given. The budget also limits how
// many combinations are ranked, so a larger budget does not always give a better result.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/crux/priority.h"
#include "pkg/crux/problem.h"
#include "pkg/crux/search/schedule_evaluator.h"
#include "pkg/crux/search/search_state.h"

namespace yardmaster::crux {

struct AnytimeSearchOptions {
  // Work of one decision in simulated events, all searches together.
  // 0: no search.
  std::int64_t event_budget = 1'000'000;
  double window_iterations = 25;  // of the slowest job of those searched
  std::size_t max_jobs = 12;      // searched together
  std::size_t max_flows = 2048;   // of those; laying out more takes too long
  // Of a flow: its path, the one chosen again and the least loaded others; at least 8 where all
  // jobs are searched together.
  std::int32_t max_candidates = 4;
  std::size_t max_variants = 16;  // of a job's paths
  std::size_t max_combinations = 1024;
  std::size_t max_path_sets = 10;  // tried in step 2
  std::size_t max_descents = 4;    // of step 3
  double min_gain = 1e-3;  // as a share of its value; gains up to it keep the schedule given
};

// What it costs to give a job other paths, or another level: in FLOP/s, per job; 0 for a job that
// is not running yet, and for one that the same decision has already moved.
struct MoveCosts {
  std::vector<double> paths;
  std::vector<double> level;
};

struct SearchReport {
  double before = 0;  // FLOP/s
  double after = 0;   // less the cost of moves
  bool at_bound = false;
  std::int64_t evaluations = 0;

  // Takes `best`, which is worth `value`, into `state` if it is worth more than `before` by the
  // fraction `min_gain`.
  void AcceptIfBetter(double value, const SearchState& best, double min_gain, SearchState& state);
};

// Improves `state`, paths and levels of all jobs of `problem`. REQUIRES: costs aligned with the
// jobs. Returns an empty report and leaves `state` as it is for jobs that ScheduleEvaluator::Fits
// refuses.
SearchReport ImproveSchedule(const Problem& problem, std::int32_t levels, const MoveCosts& costs,
                             const CorrectionOptions& correction,
                             const AnytimeSearchOptions& options, EventBudget& budget,
                             SearchState& state);

}  // namespace yardmaster::crux
