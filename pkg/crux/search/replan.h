// Compares the plan that holds with plans in which many jobs choose their paths again at once.
//
// A search that moves one or two jobs at a time finds no way out of a plan in which several jobs
// would have to move together. Replan makes and simulates whole plans:
//   1. the jobs that lose most in the best plan so far choose again: alone, then together with
//      those that they share full links with; the losers choose before the others;
//   2. all jobs choose again, as if none ran; those that lost in a plan made before choose first.
//      The first time all jobs also choose as published (PathSelectionOptions::count_common_links);
//   3. both are repeated, at most 8 times, while that gains or finds further losers;
//   4. jobs of the best plan go back to where they were, one after the other, where the plan is
//      then worth more; at last all levels do.
// A plan is worth the FLOP/s of its jobs less the cost of moves, as in anytime_search.h.
//
// Deterministic. Complexity: a plan costs the uses of links by all candidates of the jobs, and a
// simulation; both are paid from the budget. Once half of it is spent, no further plan begins.
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pkg/crux/path_selection.h"
#include "pkg/crux/priority.h"
#include "pkg/crux/problem.h"
#include "pkg/crux/search/anytime_search.h"
#include "pkg/crux/search/schedule_evaluator.h"
#include "pkg/crux/search/search_state.h"

namespace yardmaster::crux {

// Improves `state`, paths and levels of all jobs of `problem`. REQUIRES: costs aligned with the
// jobs. Returns an empty report and leaves `state` as it is for fewer than two jobs, for an
// exhausted budget, and for jobs that ScheduleEvaluator::Fits refuses.
SearchReport Replan(const Problem& problem, std::int32_t levels, const MoveCosts& costs,
                    const PathSelectionOptions& paths, const CorrectionOptions& correction,
                    const AnytimeSearchOptions& options, EventBudget& budget, SearchState& state);

}  // namespace yardmaster::crux
