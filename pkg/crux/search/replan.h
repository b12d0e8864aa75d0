// Compares the present plan with plans in which many jobs choose their paths again at once.
//
// A search that moves one or two jobs at a time cannot leave a plan in which several jobs would
// have to move together. Replan computes and simulates whole plans:
//
//   1. The jobs that lose most in the best plan so far choose again: alone, then together with the
//      jobs with which they share full links. The losing jobs choose before the others.
//   2. All jobs choose again, as if none ran. Those that lost in an earlier plan choose first. The
//      first time, all jobs also choose as published (PathSelectionOptions::count_common_links).
//   3. Both steps are repeated, at most 8 times, while that gains or finds further losing jobs.
//   4. Jobs of the best plan return to their previous paths, one after the other, if that increases
//      the value. Finally all levels do.
//
// The value of a plan is the FLOP/s of its jobs less the cost of moves, as in anytime_search.h.
//
// Complexity: a plan costs the uses of links by all candidates of the jobs, and a simulation, both
// of which are charged to the budget. When half of the budget is spent, no further plan begins.
// Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pkg/crux/path_selection.h"
#include "pkg/crux/priority.h"
#include "pkg/crux/problem.h"
#include "pkg/crux/search/anytime_search.h"
#include "pkg/crux/search/schedule_evaluator.h"
#include "pkg/crux/search/search_state.h"

namespace yardmaster::crux {

// Improves `state`, paths and levels of all jobs of `problem`. For fewer than two jobs, for an
// exhausted budget, and for jobs that ScheduleEvaluator::Fits rejects, it returns an empty report
// and does not change `state`. REQUIRES: costs aligned with the jobs.
SearchReport Replan(const Problem& problem, std::int32_t levels, const MoveCosts& costs,
                    const PathSelectionOptions& paths, const CorrectionOptions& correction,
                    const AnytimeSearchOptions& options, EventBudget& budget, SearchState& state);

}  // namespace yardmaster::crux
