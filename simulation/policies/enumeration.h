// The best schedule by trying every combination of candidate paths, each with its best levels.
// Paths are taken by falling bound (rate_bound.h) and the search stops at the first that is not
// better than the best found; twin flows are not exchanged.
//
// Complexity: product of the candidates times the weak orders of the largest group that shares a
// link, which is why it is limited. Deterministic: ties go to what was tried first, the highest
// bound or the lowest path indices. Thread safety: single threaded.
#pragma once

#include <cstdint>
#include <span>

#include "pkg/base/status.h"
#include "pkg/crux/problem.h"
#include "pkg/crux/search/group_evaluator.h"
#include "pkg/crux/search/search_state.h"
#include "simulation/policies/rate_bound.h"

namespace yardmaster::crux {

// Upper bound on the evaluations that enumerating `jobs` needs; saturates at 1e18.
double EnumerationSize(const Problem& problem, std::span<const ContendingJobId> jobs,
                       std::int32_t levels);

// The best paths and levels of `jobs`, which share no link with others on any candidate, written
// into the state. Returns their FLOP/s; invalid once evaluator.exhausted().
double Enumerate(const Problem& problem, std::span<const ContendingJobId> jobs, std::int32_t levels,
                 GroupEvaluator& evaluator, RateBound& bound, SearchState& state);

// The optimum of each component of jobs that could contend (PossibleComponents), enumerated.
// Errors: ResourceExhausted when a component's EnumerationSize exceeds `limit`, it has more than 60
// jobs or ScheduleEvaluator::Fits refuses it, and when the evaluator's budget runs out.
absl::StatusOr<SearchState> FindOptimum(const Problem& problem, std::int32_t levels, double limit,
                                        ScheduleEvaluator& evaluator);

}  // namespace yardmaster::crux
