// Search over paths and levels with a judge: the optimum by enumeration, and a bounded local search
// where that is too much. Both work on the jobs that could meet on some candidate path.
//
// Enumeration tries every combination of candidate paths; for each it splits the jobs into groups
// that share a link and takes each group's best assignment of levels (every weak order of at most K
// classes), remembered across combinations. Complexity: product of the candidates times the weak
// orders of the largest group, which is why it is limited.
// Deterministic: ties go to what was tried first, the start or the lowest path and level indices.
// Thread safety: pure apart from the judge.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/crux/judge.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct SearchState {
  Paths paths;
  std::vector<std::int32_t> levels;
};

// Upper bound on the judgements that enumerating `jobs` needs; saturates at 1e18.
double EnumerationSize(const Problem& problem, std::span<const std::int32_t> jobs,
                       std::int32_t levels);

// The best levels for fixed paths, written into state.levels; returns the FLOP/s of `jobs`.
double BestLevels(std::span<const std::int32_t> jobs, std::int32_t levels, GroupJudge& judge,
                  SearchState& state);

// The best paths and levels. Returns their FLOP/s.
double Enumerate(const Problem& problem, std::span<const std::int32_t> jobs, std::int32_t levels,
                 GroupJudge& judge, SearchState& state);

struct RefineOptions {
  // Enumerate where this many judgements suffice, else search locally with as many.
  std::int64_t evaluations = 4000;
  // A gain below this share is not worth leaving the analytic plan,
  double least_gain = 1e-3;
  // nor one below this to move jobs that run and did not change (Options::previous).
  double moving_gain = 0.02;
  std::uint64_t seed = 1;
};

// Improves `state` for `jobs` by moving `movable` ones (a part of them, sorted); leaves it alone
// where they gain a smaller share than `gain`.
void Refine(const Problem& problem, std::span<const std::int32_t> jobs,
            std::span<const std::int32_t> movable, std::int32_t levels,
            const RefineOptions& options, double gain, GroupJudge& judge, SearchState& state);

// Everything enumerated. Errors: ResourceExhausted when that takes more than `limit` judgements, or
// the judge tires.
absl::StatusOr<SearchState> FindOptimum(const Problem& problem, std::int32_t levels, double limit,
                                        Judge& judge);

}  // namespace yardmaster::crux
