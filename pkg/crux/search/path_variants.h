// The combinations of paths that a search tries, and their order.
//
// A variant is one choice of paths of one job. Combinations of variants are ranked by their
// promise: the mean of an upper bound and a pessimistic estimate of the FLOP/s in a window that
// begins where every job may begin to communicate, each less the cost of the moves.
//   bound     every job runs as if alone, but no link carries more than it can: on an overloaded
//             link the time goes to the jobs with most FLOP per link second (a fractional
//             knapsack); the losses of links that have no job in common add up
//   estimate  jobs in falling order of intensity, each with what those before it leave of its links
//
// Complexity: O(combinations * links of the jobs * log). Deterministic: ties go to fewer moves,
// then to lower indices. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/intensity.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct PathVariant {
  std::vector<std::int32_t> paths;  // per flow
  std::vector<LinkSeconds> loads;
  double iterations_per_second = 0;  // begun after the one under way, alone
  double rate = 0;                   // FLOP/s alone
  double intensity = 0;
};

// Variants of one job: first `now`, then others, each once, at most `max_variants` in all. Where
// all combinations of the candidates of its flows fit (exchanged twin flows once), the others are
// these in turn and `also` is not used. Else those of `also` come first, then the combinations in
// turn where there are at most 2 * max_variants, or those that move one flow, larger flows first.
std::vector<PathVariant> VariantsOf(const Problem& problem, const ContendingJob& job,
                                    const std::vector<std::int32_t>& now, double window_seconds,
                                    std::size_t max_variants,
                                    std::span<const std::vector<std::int32_t>> also = {});

// Upper bound of the jobs' work with these variants and any levels. (Flows that run in every
// n-th iteration count with their mean, so there it is an estimate.)
double BoundOf(const Problem& problem, std::span<const PathVariant* const> chosen);
// The pessimistic estimate above, in FLOP/s.
double EstimateOf(const Problem& problem, std::span<const PathVariant* const> chosen);

struct Combination {
  std::vector<std::int32_t> variant;  // per job
  double bound = 0;
  double promise = 0;
};

// All combinations where there are at most `max_combinations`, else as many of those that move at
// most two jobs; highest promise first.
// `move_cost`: FLOP/s that it costs to move job j away from its first variant.
std::vector<Combination> RankedCombinations(const Problem& problem,
                                            std::span<const std::vector<PathVariant>> variants,
                                            std::span<const double> move_cost,
                                            std::size_t max_combinations);

}  // namespace yardmaster::crux
