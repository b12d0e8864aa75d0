// Checks solutions in tests.
//
// Thread safety: pure functions, except that failures are reported to gtest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include "pkg/crux/contention.h"
#include "pkg/crux/decide.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/testing/valid_compression.h"

namespace yardmaster::crux {

inline std::vector<std::int32_t> LevelsOf(const Solution& solution) {
  std::vector<std::int32_t> levels;
  for (const JobDecision& job : solution.jobs) levels.push_back(job.level);
  return levels;
}

// Expects the invariants of Solution.
inline void ExpectConsistent(const Problem& problem, const Solution& solution) {
  const std::vector<std::int32_t> levels = LevelsOf(solution);
  ASSERT_EQ(levels.size(), problem.jobs.size());
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const JobDecision& job = solution.jobs[j];
    EXPECT_DOUBLE_EQ(job.priority, job.correction * job.intensity);
    EXPECT_GE(job.level, 0);
    EXPECT_LT(job.level, problem.levels);
    const auto loads = LinkLoads(problem, problem.jobs[j], job.paths);
    EXPECT_EQ(job.communication_seconds, CommunicationSeconds(loads));
  }
  EXPECT_TRUE(IsValidCompression(solution.edges, levels));
  EXPECT_EQ(solution.loss, Loss(solution.edges, levels));
  for (const ContentionEdge& edge : solution.edges) {
    EXPECT_GE(solution.jobs[edge.from.index()].priority, solution.jobs[edge.to.index()].priority);
    EXPECT_EQ(edge.weight, solution.jobs[edge.from.index()].intensity);
  }
  EXPECT_LE(solution.optimal_loss.value_or(0), solution.loss * (1 + 1e-12));
}

}  // namespace yardmaster::crux
