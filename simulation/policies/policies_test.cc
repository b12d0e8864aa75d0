#include "simulation/policies/policies.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "pkg/base/testing/rounds.h"
#include "pkg/crux/search/schedule_evaluator.h"
#include "pkg/crux/testing/problems.h"
#include "pkg/crux/testing/solutions.h"

namespace yardmaster::crux {
namespace {

using ::testing::HasSubstr;

Solution MustDecide(const Problem& problem, Policy policy, const Options& options = {},
                    const PresentState& present = {}) {
  auto solution = DecideBy(policy, problem, options, {}, present);
  EXPECT_TRUE(solution.ok()) << MessageOf(solution.status());
  return *std::move(solution);
}

Options Seeded(std::uint64_t seed) {
  Options options;
  options.seed = seed;
  return options;
}

std::vector<Policy> PoliciesButExact() {
  std::vector<Policy> policies = AllPolicies();
  policies.erase(std::find(policies.begin(), policies.end(), Policy::kExact));
  return policies;
}

double RateOf(const Problem& problem, const Solution& solution, double iterations) {
  const std::vector<ContendingJobId> all = AllJobs(problem.jobs.size());
  std::vector<std::int32_t> levels;
  for (const JobDecision& job : solution.jobs) levels.push_back(job.level);
  EventBudget budget{1'000'000'000, 0};
  ScheduleEvaluator evaluator(problem, WindowOf(problem, all, iterations), budget);
  return evaluator.FlopRate(all, PathsOf(solution), levels);
}

TEST(Policies, AnUnknownOneIsAnsweredWithTheKnownOnes) {
  EXPECT_THAT(MessageOf(ParsePolicy("best").status()), HasSubstr("crux, published, ecmp"));
  for (const Policy policy : AllPolicies()) EXPECT_EQ(*ParsePolicy(PolicyName(policy)), policy);
}

TEST(Policies, ExactRefusesWhatItCannotEnumerate) {
  Problem many = testing::WithLinks(1, 1, {});
  for (int j = 0; j < 70; ++j) {
    many.jobs.push_back(testing::OneFlowJob("j" + std::to_string(j), 1e12, 8, 1, 1, 0.1, {0}));
  }
  const auto solution = DecideBy(Policy::kExact, many);
  EXPECT_TRUE(absl::IsResourceExhausted(solution.status())) << solution.status();
  EXPECT_THAT(MessageOf(solution.status()), HasSubstr("at most 60 jobs"));
}

TEST(Policies, PublishedIgnoresWhatHolds) {
  const Problem problem =
      testing::RandomProblem({.jobs = 8, .links = 6, .levels = 3, .candidates = 3}, 4);
  PresentState present;
  present.previous = *DecideBy(Policy::kEcmp, problem);
  const auto held = DecideBy(Policy::kPublished, problem, {}, {}, present);
  const auto fresh = DecideBy(Policy::kPublished, problem);
  ASSERT_TRUE(held.ok() && fresh.ok());
  EXPECT_EQ(PathsOf(*held), PathsOf(*fresh));
}

TEST(Policies, ExactRefusesMoreStreamsThanCanBeSimulated) {
  const Problem problem = testing::WithLinks(
      2, 1, {testing::ManyStartsJob("a", 40, {0}), testing::ManyStartsJob("b", 40, {0})});
  const auto solution = DecideBy(Policy::kExact, problem);
  ASSERT_FALSE(solution.ok());
  EXPECT_THAT(MessageOf(solution.status()), HasSubstr("communicationStart"));
}

TEST(Policies, EachKeepsThePromisesOfASolution) {
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

TEST(Policies, TheSameInputGivesTheSameAnswer) {
  const Problem problem =
      testing::RandomProblem({.jobs = 30, .links = 12, .levels = 4, .candidates = 3}, 5);
  for (const Policy policy : PoliciesButExact()) {
    const Solution one = MustDecide(problem, policy, Seeded(9));
    const Solution two = MustDecide(problem, policy, Seeded(9));
    EXPECT_EQ(PathsOf(one), PathsOf(two));
    EXPECT_EQ(LevelsOf(one), LevelsOf(two));
  }
}

TEST(Policies, ReservedLevelsAreNeverHandedOut) {
  const Problem problem = testing::RandomProblem({.jobs = 9, .links = 3, .levels = 6}, 2);
  PresentState present;
  present.reserved_levels = {5, 2};
  for (const Policy policy : PoliciesButExact()) {
    const Solution solution = MustDecide(problem, policy, {}, present);
    for (const JobDecision& job : solution.jobs) {
      EXPECT_NE(job.level, 5);
      EXPECT_NE(job.level, 2);
    }
    ExpectConsistent(problem, solution);
  }
}

TEST(Policies, AJobWithNothingToSendTakesTheLowestLevelAndDisturbsNobody) {
  Problem problem = testing::Example1(3);
  problem.jobs.push_back({"silent", 8, 1e15, 1, 1, {}});
  for (const Policy policy : PoliciesButExact()) {
    const Solution solution = MustDecide(problem, policy);
    EXPECT_EQ(solution.jobs[2].level, 0);
    EXPECT_EQ(solution.jobs[2].intensity, 0);
  }
}

TEST(Policies, AJobThatOnlySendsInTheBackgroundTakesTheLowestLevel) {
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

TEST(Policies, PublishedSolvesExampleOneAsThePaperDoes) {
  const Solution solution = MustDecide(testing::Example1(2), Policy::kPublished);
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

TEST(Policies, PublishedLetsJobTwoWinExampleTwo) {
  const Solution solution = MustDecide(testing::Example2(2), Policy::kPublished);
  EXPECT_EQ(solution.jobs[0].intensity, solution.jobs[1].intensity);
  EXPECT_EQ(solution.jobs[1].correction, 1);
  EXPECT_GT(solution.jobs[1].priority, solution.jobs[0].priority);
  EXPECT_EQ(LevelsOf(solution), (std::vector<std::int32_t>{0, 1}));
}

TEST(Policies, PublishedCompressesFigureThirteenAsDrawn) {
  const Solution solution = MustDecide(testing::Figure13(), Policy::kPublished);
  EXPECT_EQ(LevelsOf(solution), (std::vector<std::int32_t>{1, 0, 1, 0}));
  EXPECT_EQ(solution.loss, 0);
  EXPECT_EQ(solution.optimal_loss, 0);
}

TEST(Policies, CruxComesNearTheOptimumWithTensOfEvaluations) {
  double sum = 0;
  double worst = 1;
  constexpr int kSeeds = 12;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Problem problem = testing::RandomProblem(
        {.jobs = 5, .links = 4, .levels = 3, .flows = 2, .candidates = 2}, seed);
    DecisionReport report;
    const Solution solution = *Decide(problem, {}, {}, &report);
    ExactOptions window;
    window.window_seconds = WindowOf(problem, AllJobs(5), 25);
    const auto exact = DecideBy(Policy::kExact, problem, {}, window);
    ASSERT_TRUE(exact.ok());
    const double ratio = RateOf(problem, solution, 25) / RateOf(problem, *exact, 25);
    sum += ratio;
    worst = std::min(worst, ratio);
    EXPECT_LT(report.evaluations, 400);
  }
  EXPECT_GT(sum / kSeeds, 0.985);
  EXPECT_GT(worst, 0.9);
}

}  // namespace
}  // namespace yardmaster::crux
