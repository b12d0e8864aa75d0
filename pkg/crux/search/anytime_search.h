// Improves a schedule of few jobs by a search that can stop at any time. It keeps the best schedule
// so far, and ends when the event budget is exhausted, when the schedule reaches the bound, or when
// a pass over all moves gains nothing.
//
// It simulates these schedules (schedule_evaluator.h), as many as the budget allows:
//
//   1. the given schedule;
//   2. the most promising combinations of paths (path_variants.h), each with the levels that the
//      priority rule gives it; if jobs run already, also the paths that all of them would choose
//      again;
//   3. from the best of those: moves of one job to another level or other paths, and exchanges of
//      two jobs' levels. Each improvement is kept, until there is none. Then the search continues
//      from the next best, for at most `max_descents` schedules.
//
// The value of a schedule is the FLOP/s of the jobs, less the cost of moving running jobs
// (MoveCosts). It reaches the bound if it is within 0.05 % of the best bound of all combinations of
// paths (path_variants.h), or, if these are too many, of the FLOP/s of the jobs without contention.
//
// Deterministic. The result is never worse than the given schedule. The budget also limits how many
// combinations are ranked, so a larger budget does not always give a better result. Thread safety:
// pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/crux/priority.h"
#include "pkg/crux/problem.h"
#include "pkg/crux/search/schedule_evaluator.h"
#include "pkg/crux/search/search_state.h"

namespace yardmaster::crux {

struct AnytimeSearchOptions {
  // Simulated events per decision, for all searches together. 0: no search.
  std::int64_t event_budget = 1'000'000;
  double window_iterations = 25;  // iterations of the slowest job in the search
  std::size_t max_jobs = 12;      // jobs per search
  std::size_t max_flows = 2048;   // flows of these jobs
  // Candidates of a flow: its path, the one chosen again and the least loaded others. At least 8 if
  // all jobs are searched together.
  std::int32_t max_candidates = 4;
  std::size_t max_variants = 16;  // variants of a job's paths
  std::size_t max_combinations = 1024;
  std::size_t max_path_sets = 10;  // in step 2
  std::size_t max_descents = 4;    // in step 3
  double min_gain = 1e-3;  // fraction of the value; a smaller gain does not change the schedule
};

// The cost in FLOP/s, by job, of changing the paths or the level of a job; 0 for a job that does
// not run yet, and for one that the same decision has already moved.
struct MoveCosts {
  std::vector<double> paths;
  std::vector<double> level;
};

struct SearchReport {
  double before = 0;  // FLOP/s
  double after = 0;   // less the cost of moves
  bool at_bound = false;
  std::int64_t evaluations = 0;

  // Copies `best`, whose value is `value`, to `state` if it exceeds `before` by the fraction
  // `min_gain`.
  void AcceptIfBetter(double value, const SearchState& best, double min_gain, SearchState& state);
};

// Improves `state`, paths and levels of all jobs of `problem`. For jobs that
// ScheduleEvaluator::Fits rejects it returns an empty report and does not change `state`. REQUIRES:
// costs aligned with the jobs.
SearchReport ImproveSchedule(const Problem& problem, std::int32_t levels, const MoveCosts& costs,
                             const CorrectionOptions& correction,
                             const AnytimeSearchOptions& options, EventBudget& budget,
                             SearchState& state);

}  // namespace yardmaster::crux
