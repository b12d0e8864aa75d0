#include "pkg/crux/decide.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/crux/contention.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/lab/policies.h"
#include "pkg/crux/testing/problems.h"
#include "pkg/crux/testing/valid_compression.h"

namespace yardmaster::crux {
namespace {

using ::testing::HasSubstr;

Solution MustDecide(const Problem& problem, Policy policy, const Options& options = {}) {
  auto solution = DecideBy(policy, problem, options);
  EXPECT_TRUE(solution.ok()) << MessageOf(solution.status());
  return *std::move(solution);
}

Options Seeded(std::uint64_t seed) {
  Options options;
  options.seed = seed;
  return options;
}

Options Reserving(std::vector<std::int32_t> levels) {
  Options options;
  options.reserved_levels = std::move(levels);
  return options;
}

std::vector<std::int32_t> LevelsOf(const Solution& solution) {
  std::vector<std::int32_t> levels;
  for (const JobDecision& job : solution.jobs) levels.push_back(job.level);
  return levels;
}

std::vector<Policy> PoliciesButExact() {
  std::vector<Policy> policies = AllPolicies();
  policies.erase(std::find(policies.begin(), policies.end(), Policy::kExact));
  return policies;
}

// What Solution promises.
void ExpectConsistent(const Problem& problem, const Solution& solution) {
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

TEST(Decide, ExampleOneComesOutExactly) {
  for (const Policy policy : {Policy::kCrux, Policy::kPublished}) {
    const Solution solution = MustDecide(testing::Example1(2), policy);
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
}

TEST(Decide, ExampleTwoIsWonByJobTwo) {
  for (const Policy policy : {Policy::kCrux, Policy::kPublished}) {
    const Solution solution = MustDecide(testing::Example2(2), policy);
    EXPECT_EQ(solution.jobs[0].intensity, solution.jobs[1].intensity);
    EXPECT_EQ(solution.jobs[1].correction, 1);
    EXPECT_GT(solution.jobs[1].priority, solution.jobs[0].priority);
    EXPECT_EQ(LevelsOf(solution), (std::vector<std::int32_t>{0, 1}));
  }
}

TEST(Decide, FigureThirteenIsCompressedAsDrawn) {
  for (const Policy policy : {Policy::kCrux, Policy::kPublished}) {
    const Solution solution = MustDecide(testing::Figure13(), policy);
    EXPECT_EQ(LevelsOf(solution), (std::vector<std::int32_t>{1, 0, 1, 0}));
    EXPECT_EQ(solution.loss, 0);
    EXPECT_EQ(solution.optimal_loss, 0);
  }
}

TEST(Decide, EveryPolicyKeepsThePromisesOfASolution) {
  for (std::uint64_t seed = 0; seed < Rounds(60u); ++seed) {
    testing::RandomShape shape{.jobs = 7, .links = 6, .levels = 3, .flows = 3, .candidates = 3};
    shape.several_starts = seed % 2 == 1;
    shape.storage = seed % 4 > 1;
    const Problem problem = testing::RandomProblem(shape, seed);
    for (const Policy policy : PoliciesButExact()) {
      ExpectConsistent(problem, MustDecide(problem, policy, Seeded(seed)));
    }
  }
}

TEST(Decide, TheSameInputGivesTheSameAnswer) {
  const Problem problem =
      testing::RandomProblem({.jobs = 30, .links = 12, .levels = 4, .candidates = 3}, 5);
  for (const Policy policy : PoliciesButExact()) {
    const Solution one = MustDecide(problem, policy, Seeded(9));
    const Solution two = MustDecide(problem, policy, Seeded(9));
    EXPECT_EQ(PathsOf(one), PathsOf(two));
    EXPECT_EQ(LevelsOf(one), LevelsOf(two));
  }
}

TEST(Decide, TheFirstExampleHasItsCorrection) {
  for (const Policy policy : {Policy::kPublished, Policy::kCrux}) {
    EXPECT_EQ(MustDecide(testing::Example1(2), policy).jobs[1].correction, 1.5);
  }
}

TEST(Decide, ReservedLevelsAreNeverHandedOut) {
  const Problem problem = testing::RandomProblem({.jobs = 9, .links = 3, .levels = 6}, 2);
  for (const Policy policy : PoliciesButExact()) {
    const Solution solution = MustDecide(problem, policy, Reserving({5, 2}));
    for (const JobDecision& job : solution.jobs) {
      EXPECT_NE(job.level, 5);
      EXPECT_NE(job.level, 2);
    }
    ExpectConsistent(problem, solution);
  }
  EXPECT_FALSE(Decide(problem, Reserving({0, 1, 2, 3, 4, 5})).ok());
}

TEST(Decide, WithoutASearchAnArrivalLeavesRunningJobsOnTheirPaths) {
  for (std::uint64_t seed = 0; seed < Rounds(20u); ++seed) {
    const Problem problem =
        testing::RandomProblem({.jobs = 10, .links = 14, .levels = 4, .candidates = 3}, seed);
    Problem before = problem;
    before.jobs.pop_back();
    Options options;
    options.search.event_budget = 0;
    options.previous = MustDecide(before, Policy::kCrux);
    const Solution same = MustDecide(before, Policy::kCrux, options);
    EXPECT_EQ(PathsOf(same), PathsOf(*options.previous));
    EXPECT_EQ(LevelsOf(same), LevelsOf(*options.previous));

    JobDecision fresh;
    fresh.level = -1;
    options.previous->jobs.push_back(fresh);
    options.changed = {ContendingJobId(9)};
    const Solution after = MustDecide(problem, Policy::kCrux, options);
    ExpectConsistent(problem, after);
    for (std::size_t j = 0; j + 1 < problem.jobs.size(); ++j) {
      EXPECT_EQ(after.jobs[j].paths, options.previous->jobs[j].paths);
    }
  }
}

TEST(Decide, AChangedJobThatIsNotThereIsRefusedWithAndWithoutAPreviousSolution) {
  const Problem problem = testing::Example1(2);
  Options options;
  for (const std::int32_t job : {-1, 2}) {
    options.changed = {ContendingJobId(job)};
    options.previous.reset();
    EXPECT_THAT(MessageOf(Decide(problem, options).status()), HasSubstr("changed"));
    options.previous = MustDecide(problem, Policy::kCrux);
    EXPECT_THAT(MessageOf(Decide(problem, options).status()), HasSubstr("changed"));
  }
}

TEST(Decide, AJobWithNothingToSendTakesTheLowestLevelAndDisturbsNobody) {
  Problem problem = testing::Example1(3);
  problem.jobs.push_back({"silent", 8, 1e15, 1, 1, {}});
  for (const Policy policy : PoliciesButExact()) {
    const Solution solution = MustDecide(problem, policy);
    EXPECT_EQ(solution.jobs[2].level, 0);
    EXPECT_EQ(solution.jobs[2].intensity, 0);
  }
}

TEST(Decide, AJobThatOnlySendsInTheBackgroundTakesTheLowestLevel) {
  Problem problem = testing::Example1(3);
  problem.jobs.push_back(testing::OneFlowJob("writer", 1e15, 8, 1, 1, 1, {0}));
  problem.jobs[2].flows[0].background = true;
  for (const Policy policy : PoliciesButExact()) {
    const Solution solution = MustDecide(problem, policy);
    EXPECT_EQ(solution.jobs[2].level, 0);
    EXPECT_EQ(solution.jobs[2].intensity, 0);
    for (const ContentionEdge& edge : solution.edges) {
      EXPECT_NE(edge.from, ContendingJobId(2));
      EXPECT_NE(edge.to, ContendingJobId(2));
    }
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
