#include "pkg/crux/priority.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "pkg/crux/draft.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

Priorities Of(const Problem& problem, const CorrectionOptions& options) {
  return PrioritiesOf(problem, Draft(problem, SelectPaths(problem)), options);
}

constexpr CorrectionOptions kPublished{.published = true};

// A job that shares no link with others must not change their corrections, however much it sends.
TEST(Priority, TheReferenceIsOfTheSameComponent) {
  Problem problem = testing::Example1(2);
  problem.links.push_back({"apart", testing::kGbpsOfOneGigabyte});
  problem.jobs.push_back(testing::OneFlowJob("apart", 1e20, 4096, 1, 0.5, 1000, {1}));
  EXPECT_NE(Of(problem, kPublished).correction[1], 1.5);
  EXPECT_EQ(Of(problem, {}).correction[0], 1);
  EXPECT_EQ(Of(problem, {}).correction[1], 1.5);
}

// As published k runs to its limits where one order costs nothing; on a full link that is not a
// reason to starve the other job.
TEST(Priority, CorrectionsAreBounded) {
  double published = 1;
  double production = 1;
  const auto largest = [](const Priorities& priorities) {
    double most = 1;
    for (const double k : priorities.correction) most = std::max({most, k, 1 / k});
    return most;
  };
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Problem problem = testing::RandomProblem({.jobs = 5, .links = 1}, seed);
    published = std::max(published, largest(Of(problem, kPublished)));
    production = std::max(production, largest(Of(problem, {})));
  }
  EXPECT_GT(published, 100);
  EXPECT_LE(production, CorrectionOptions().max_factor);
}

}  // namespace
}  // namespace yardmaster::crux
