// Generates the combinations of paths that a search tries, and their order.
//
// A variant is one choice of paths of one job. Combinations of variants are ranked by their
// promise: the mean of an upper bound and a pessimistic estimate of the FLOP/s, each less the cost
// of the moves. The window of both starts when every job may start to communicate.
//
//   bound     every job runs as without contention, but no link carries more than its capacity. On
//             an overloaded link the time goes to the jobs with the most FLOP per link second (a
//             fractional knapsack). The losses of links that have no job in common are added.
//   estimate  jobs in descending order of intensity, each with what those before it leave
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
  double iterations_per_second = 0;  // iterations begun after the present one, without contention
  double rate = 0;                   // FLOP/s without contention
  double intensity = 0;
};

// Returns the variants of one job: first `now`, then others, each once, at most `max_variants`. If
// all combinations of the candidates of its flows fit (twin flows exchanged once), the others are
// these in turn, and `also` is not used. Otherwise those of `also` come first. Then follow the
// combinations in turn, if there are at most 2 * max_variants, or those that move one flow, larger
// flows first.
std::vector<PathVariant> VariantsOf(const Problem& problem, const ContendingJob& job,
                                    const std::vector<std::int32_t>& now, double window_seconds,
                                    std::size_t max_variants,
                                    std::span<const std::vector<std::int32_t>> also = {});

// Returns the upper bound of the jobs' FLOP/s with these variants and any levels. (Flows that run
// in every n-th iteration count with their mean, so for these it is an estimate.)
double BoundOf(const Problem& problem, std::span<const PathVariant* const> chosen);
// Returns the pessimistic estimate above, in FLOP/s.
double EstimateOf(const Problem& problem, std::span<const PathVariant* const> chosen);

struct Combination {
  std::vector<std::int32_t> variant;  // per job
  double bound = 0;
  double promise = 0;
};

// Returns all combinations if there are at most `max_combinations`, else that many of those that
// move at most two jobs; highest promise first. `move_cost`: the cost in FLOP/s of moving job j
// away from its first variant.
std::vector<Combination> RankedCombinations(const Problem& problem,
                                            std::span<const std::vector<PathVariant>> variants,
                                            std::span<const double> move_cost,
                                            std::size_t max_combinations);

}  // namespace yardmaster::crux
