// Draft has what follows from a choice of paths: loads, intensities, and pairs of jobs that share a
// link. LevelledDraft adds what follows from levels: priorities that agree with them, and the
// contention DAG.
//
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

// A draft with levels. `levels` are indices into the usable levels; ToSolution converts them.
struct LevelledDraft {
  const Draft* draft = nullptr;
  Priorities priorities;
  std::vector<ContentionEdge> edges;
  std::vector<std::int32_t> levels;
  std::optional<double> optimal_loss;
};

Priorities PrioritiesOf(const Problem& problem, const Draft& draft,
                        const CorrectionOptions& options);

// Returns a plan with these levels. Priorities change as little as needed to agree with them.
// optimal_loss is not set. `draft` must outlive the result.
LevelledDraft PlanWithLevels(const Draft& draft, const Priorities& wanted,
                             std::vector<std::int32_t> levels);

// `usable`: the levels that may be assigned, ascending; plan.levels are indices into it. A job
// without communication time gets the first one.
Solution ToSolution(const Problem& problem, const LevelledDraft& plan,
                    const std::vector<std::int32_t>& usable);

}  // namespace yardmaster::crux
