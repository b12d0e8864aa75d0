// Compares the plan that holds with plans in which many jobs choose their paths anew at once.
//
// A search that moves one or two jobs at a time does not leave a plan in which several jobs are in each
// other's way. Here whole plans are made and simulated:
//   1. the jobs that lose most in the best plan so far choose anew: alone, then together with those that
//      they share full links with; the losers choose before the others;
//   2. all jobs choose anew, as if none ran; those that lost in a plan made before choose first;
//   3. both are repeated while that gains;
//   4. of the best plan, jobs go back to where they were, one after the other, where that costs nothing.
// A plan is worth the FLOP/s of its jobs less the cost of moves, as in anytime_search.h.
//
// Deterministic. Complexity: a plan costs the uses of links by all candidates of the jobs, and a simulation;
// both are paid from the budget, of which at most half is spent. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pkg/crux/path_selection.h"
#include "pkg/crux/priority.h"
#include "pkg/crux/problem.h"
#include "pkg/crux/search/anytime_search.h"
#include "pkg/crux/search/schedule_evaluator.h"
#include "pkg/crux/search/search_state.h"

namespace yardmaster::crux {

// Improves `state`, paths and levels of all jobs of `problem`. REQUIRES: costs aligned with the jobs.
// Nothing happens where they have more streams than a simulation can follow.
SearchReport Replan(const Problem& problem, std::int32_t levels, const MoveCosts& costs,
                    const PathSelectionOptions& paths, const CorrectionOptions& correction,
                    const AnytimeSearchOptions& options, EventBudget& budget, SearchState& state);

}  // namespace yardmaster::crux
