// What follows from a choice of paths: loads, intensities, pairs of jobs that share a link. And what
// follows from levels in addition: priorities that agree with them, and the contention DAG.
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pkg/crux/contention.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/priority.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

struct Draft {
  Paths paths;
  std::vector<std::vector<LinkSeconds>> loads;
  std::vector<JobTraffic> traffic;
  std::vector<double> intensities;
  std::vector<ContendingPair> pairs;

  Draft() = default;
  // REQUIRES: `chosen` is valid for `problem`.
  Draft(const Problem& problem, Paths chosen);
};

// Levels here count within the usable ones; the solution gets the real ones at the very end.
struct LevelledDraft {
  const Draft* draft = nullptr;
  Priorities priorities;
  std::vector<ContentionEdge> edges;
  std::vector<std::int32_t> levels;
  std::optional<double> optimal_loss;
};

Priorities PrioritiesOf(const Problem& problem, const Draft& draft,
                        const CorrectionOptions& options);

// A plan with the levels given: priorities are moved as little as agrees with them. The draft has to
// outlive it.
LevelledDraft PlanWithLevels(const Draft& draft, const Priorities& wanted,
                             std::vector<std::int32_t> levels);

// `usable`: the levels that may be handed out, rising.
Solution ToSolution(const Problem& problem, const LevelledDraft& plan,
                    const std::vector<std::int32_t>& usable);

}  // namespace yardmaster::crux
