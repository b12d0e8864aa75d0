// The enumerations against trying everything.
#include "simulation/policies/enumeration.h"

#include <algorithm>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <vector>

#include "pkg/crux/path_selection.h"
#include "pkg/crux/testing/problems.h"
#include "simulation/policies/level_search.h"

namespace yardmaster::crux {
namespace {

using ::testing::HasSubstr;

constexpr double kWindow = 40;
constexpr std::int64_t kEnough = 1'000'000'000;

Problem Varied(std::int32_t jobs, std::uint64_t seed) {
  return testing::RandomProblem({.jobs = jobs,
                                 .links = 4,
                                 .flows = 2,
                                 .candidates = 2,
                                 .several_starts = seed % 2 == 1,
                                 .storage = seed % 3 == 1},
                                seed);
}

// Calls `visit` with every assignment of `jobs` to `levels`.
void EachAssignment(std::size_t jobs, std::int32_t levels,
                    const std::function<void(const std::vector<std::int32_t>&)>& visit) {
  std::vector<std::int32_t> digits(jobs, 0);
  for (std::size_t i = 0; i < digits.size();) {
    if (i == 0) visit(digits);
    if (++digits[i] < levels) {
      i = 0;
    } else {
      digits[i++] = 0;
    }
  }
}

// The most that any levels give on these paths.
double MostOn(const Problem& problem, const Paths& paths, std::int32_t levels,
              ScheduleEvaluator& evaluator) {
  const auto all = AllJobs(problem.jobs.size());
  double most = 0;
  EachAssignment(all.size(), levels, [&](const std::vector<std::int32_t>& assignment) {
    most = std::max(most, evaluator.FlopRate(all, paths, assignment));
  });
  return most;
}

// The most that any paths and levels give.
double MostOf(const Problem& problem, std::int32_t levels, ScheduleEvaluator& evaluator) {
  Paths paths;
  for (const ContendingJob& job : problem.jobs) paths.emplace_back(job.flows.size(), 0);
  double most = 0;
  std::function<void(std::size_t, std::size_t)> choose = [&](std::size_t j, std::size_t f) {
    if (j == problem.jobs.size()) {
      most = std::max(most, MostOn(problem, paths, levels, evaluator));
      return;
    }
    if (f == problem.jobs[j].flows.size()) return choose(j + 1, 0);
    for (paths[j][f] = 0; paths[j][f] < problem.jobs[j].flows[f].paths.size(); ++paths[j][f]) {
      choose(j, f + 1);
    }
  };
  choose(0, 0);
  return most;
}

TEST(LevelSearch, NoLevelsGiveMoreThanThoseFound) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Problem problem = Varied(4, seed);
    EventBudget budget{kEnough, 0};
    ScheduleEvaluator evaluator(problem, kWindow, budget);
    GroupEvaluator groups(problem, evaluator);
    RateBound bound(problem, kWindow);
    const auto all = AllJobs(problem.jobs.size());
    SearchState state{RandomPaths(problem, seed), std::vector<std::int32_t>(all.size(), 0)};
    const Paths paths = state.paths;
    LevelSearch search(problem, 3, groups, bound);
    const double rate = search.Best(all, state);
    EXPECT_EQ(state.paths, paths);
    const double most = MostOn(problem, paths, 3, evaluator);
    EXPECT_NEAR(rate / most, 1, 1e-6) << seed;
    EXPECT_NEAR(evaluator.FlopRate(all, paths, state.levels) / most, 1, 1e-6)
        << "levels and rate belong together, seed " << seed;
    // What was found is remembered.
    const std::int64_t evaluations = groups.evaluations();
    SearchState again{paths, std::vector<std::int32_t>(all.size(), 1)};
    EXPECT_EQ(search.Best(all, again), rate);
    EXPECT_EQ(again, state);
    EXPECT_EQ(groups.evaluations(), evaluations);
  }
}

TEST(FindOptimum, NoPathsAndLevelsGiveMore) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Problem problem = Varied(3, seed);
    EventBudget budget{kEnough, 0};
    ScheduleEvaluator evaluator(problem, kWindow, budget);
    const auto found = FindOptimum(problem, 2, 1e9, evaluator);
    ASSERT_TRUE(found.ok()) << found.status();
    const double rate =
        evaluator.FlopRate(AllJobs(problem.jobs.size()), found->paths, found->levels);
    EXPECT_NEAR(rate / MostOf(problem, 2, evaluator), 1, 1e-6) << seed;
  }
}

TEST(FindOptimum, OfNoJobsIsEmpty) {
  const Problem problem = testing::WithLinks(2, 1, {});
  EventBudget budget{kEnough, 0};
  ScheduleEvaluator evaluator(problem, kWindow, budget);
  const auto found = FindOptimum(problem, 2, 10, evaluator);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, SearchState());
}

TEST(FindOptimum, RefusesWhatIsTooMuchAndSaysWhichJobs) {
  const Problem problem = testing::Example1(2);
  EventBudget budget{kEnough, 0};
  ScheduleEvaluator evaluator(problem, kWindow, budget);
  // Both before each other, and together.
  EXPECT_TRUE(FindOptimum(problem, 2, 3, evaluator).ok());
  const auto refused = FindOptimum(problem, 2, 2, evaluator);
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status()));
  EXPECT_THAT(MessageOf(refused.status()), HasSubstr("\"job1\" have 3 combinations"));
}

TEST(FindOptimum, GivesNoAnswerWhereTheBudgetRanOut) {
  const Problem problem = testing::Example1(2);
  EventBudget budget{5, 0};
  ScheduleEvaluator evaluator(problem, kWindow, budget);
  EXPECT_TRUE(absl::IsResourceExhausted(FindOptimum(problem, 2, 100, evaluator).status()));
}

TEST(EnumerationSize, CountsOrdersOfTheJobsTimesTheirChoices) {
  for (std::size_t jobs = 0; jobs <= 5; ++jobs) {
    for (std::int32_t levels = 1; levels <= 4; ++levels) {
      // Assignments to levels that differ in which job is before which.
      std::set<std::vector<std::size_t>> orders;
      EachAssignment(jobs, levels, [&](const std::vector<std::int32_t>& assignment) {
        const std::set<std::int32_t> used(assignment.begin(), assignment.end());
        std::vector<std::size_t> ranks;
        for (const std::int32_t level : assignment) {
          ranks.push_back(static_cast<std::size_t>(std::distance(used.begin(), used.find(level))));
        }
        orders.insert(ranks);
      });
      if (jobs == 0) orders.insert(std::vector<std::size_t>());
      Problem problem = testing::WithLinks(levels, 2, {});
      double choices = 1;
      for (std::size_t j = 0; j < jobs; ++j) {
        problem.jobs.push_back(testing::OneFlowJob("j", 1e12, 8, 1, 1, 1, {0}));
        if (j % 2 == 0) continue;
        problem.jobs.back().flows[0].paths.Add(std::vector<std::int32_t>{1});
        choices *= 2;
      }
      EXPECT_EQ(EnumerationSize(problem, AllJobs(jobs), levels),
                static_cast<double>(orders.size()) * choices)
          << jobs << " jobs, " << levels << " levels";
    }
  }
}

TEST(EnumerationSize, OfManyJobsIsSaturatedAndNotInfinite) {
  Problem problem = testing::WithLinks(300, 2, {});
  for (int j = 0; j < 300; ++j) {
    problem.jobs.push_back(testing::OneFlowJob("j", 1e12, 8, 1, 1, 1, {0}));
    problem.jobs.back().flows[0].paths.Add(std::vector<std::int32_t>{1});
  }
  EXPECT_EQ(EnumerationSize(problem, AllJobs(300), 300), 1e18);
}

}  // namespace
}  // namespace yardmaster::crux
