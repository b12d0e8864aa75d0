#include "pkg/crux/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/crux/testing/problems.h"
#include "pkg/crux/testing/solutions.h"

namespace yardmaster::crux {
namespace {

using ::testing::HasSubstr;

Solution MustDecide(const Problem& problem, const Options& options = {},
                    const PresentState& present = {}) {
  auto solution = Decide(problem, options, present);
  EXPECT_TRUE(solution.ok()) << MessageOf(solution.status());
  return *std::move(solution);
}

TEST(Decide, ExampleOneComesOutExactly) {
  const Solution solution = MustDecide(testing::Example1(2));
  EXPECT_EQ(solution.jobs[0].intensity, 5e9);
  EXPECT_EQ(solution.jobs[1].intensity, 5e9);
  EXPECT_EQ(solution.jobs[0].correction, 1);
  EXPECT_EQ(solution.jobs[1].correction, 1.5);
  EXPECT_EQ(solution.jobs[1].priority, 7.5e9);
  EXPECT_EQ(LevelsOf(solution), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(solution.edges.size(), 1u);
  EXPECT_EQ(solution.edges[0].from, ContendingJobId(1));
  EXPECT_EQ(solution.loss, 0);
}

TEST(Decide, ExampleTwoIsWonByJobTwo) {
  const Solution solution = MustDecide(testing::Example2(2));
  EXPECT_EQ(solution.jobs[0].intensity, solution.jobs[1].intensity);
  EXPECT_EQ(solution.jobs[1].correction, 1);
  EXPECT_GT(solution.jobs[1].priority, solution.jobs[0].priority);
  EXPECT_EQ(LevelsOf(solution), (std::vector<std::int32_t>{0, 1}));
}

TEST(Decide, FigureThirteenIsCompressedAsDrawn) {
  const Solution solution = MustDecide(testing::Figure13());
  EXPECT_EQ(LevelsOf(solution), (std::vector<std::int32_t>{1, 0, 1, 0}));
  EXPECT_EQ(solution.loss, 0);
  EXPECT_EQ(solution.optimal_loss, 0);
}

TEST(Decide, LevelsAllOfWhichAreReservedAreRefused) {
  const Problem problem = testing::RandomProblem({.jobs = 9, .links = 3, .levels = 6}, 2);
  PresentState present;
  present.reserved_levels = {0, 1, 2, 3, 4, 5};
  EXPECT_FALSE(Decide(problem, {}, present).ok());
}

TEST(Decide, WithoutASearchAnArrivalLeavesRunningJobsOnTheirPaths) {
  for (std::uint64_t seed = 0; seed < Rounds(20u); ++seed) {
    const Problem problem =
        testing::RandomProblem({.jobs = 10, .links = 14, .levels = 4, .candidates = 3}, seed);
    Problem before = problem;
    before.jobs.pop_back();
    Options options;
    options.search.event_budget = 0;
    PresentState present;
    present.previous = MustDecide(before);
    const Solution same = MustDecide(before, options, present);
    EXPECT_EQ(PathsOf(same), PathsOf(*present.previous));
    EXPECT_EQ(LevelsOf(same), LevelsOf(*present.previous));

    JobDecision fresh;
    fresh.level = -1;
    present.previous->jobs.push_back(fresh);
    present.changed = {ContendingJobId(9)};
    const Solution after = MustDecide(problem, options, present);
    ExpectConsistent(problem, after);
    for (std::size_t j = 0; j + 1 < problem.jobs.size(); ++j) {
      EXPECT_EQ(after.jobs[j].paths, present.previous->jobs[j].paths);
    }
  }
}

TEST(Decide, AChangedJobThatIsNotThereIsRefusedWithAndWithoutAPreviousSolution) {
  const Problem problem = testing::Example1(2);
  PresentState present;
  for (const std::int32_t job : {-1, 2}) {
    present.changed = {ContendingJobId(job)};
    present.previous.reset();
    EXPECT_THAT(MessageOf(Decide(problem, {}, present).status()), HasSubstr("changed"));
    present.previous = MustDecide(problem);
    EXPECT_THAT(MessageOf(Decide(problem, {}, present).status()), HasSubstr("changed"));
  }
}

TEST(Decide, LevelsAreCutToTheHighestOnlyWhereThereAreFarMoreThanJobs) {
  const std::vector<std::int32_t> reserved = {0, 3};
  EXPECT_EQ(UsableLevels(5, reserved, 1), (std::vector<std::int32_t>{1, 2, 4}));
  EXPECT_EQ(UsableLevels(64, {}, 1).size(), 64u);
  EXPECT_EQ(UsableLevels(1'000, {}, 1).front(), 1'000 - 64);
  EXPECT_EQ(UsableLevels(1'000, {}, 2'000).size(), 1'000u);
}

}  // namespace
}  // namespace yardmaster::crux
