#include "simulation/simulator/evaluate.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/search/schedule_evaluator.h"
#include "pkg/crux/testing/problems.h"
#include "simulation/policies/policies.h"

namespace yardmaster::sim {
namespace {

using crux::Policy;

Evaluation Window(const crux::Problem& problem, const std::vector<std::int32_t>& levels,
                  double seconds) {
  const crux::Solution solution =
      crux::Describe(problem, crux::SelectPaths(problem), levels, {0, 1});
  auto evaluation = Evaluate(problem, solution, {.window_seconds = seconds, .simulator = {}});
  EXPECT_TRUE(evaluation.ok()) << MessageOf(evaluation.status());
  return *std::move(evaluation);
}

double LinkSeconds(const Evaluation& evaluation, std::size_t job) {
  return evaluation.jobs[job].flow_bytes[0] / 1e9;
}

TEST(Evaluate, ExampleOneHasTheFiguresOfThePaper) {
  const crux::Problem problem = crux::testing::Example1(2);
  const Evaluation job1_first = Window(problem, {1, 0}, 12);
  EXPECT_EQ(job1_first.utilisation, 0.375);
  EXPECT_EQ(job1_first.jobs[0].compute_seconds, 12 - 6);
  EXPECT_EQ(job1_first.jobs[1].compute_seconds, 12 - 9);
  EXPECT_EQ(LinkSeconds(job1_first, 0), 6);
  EXPECT_EQ(LinkSeconds(job1_first, 1), 3);
  const Evaluation job2_first = Window(problem, {0, 1}, 12);
  EXPECT_DOUBLE_EQ(job2_first.utilisation, 5.0 / 12);
  EXPECT_EQ(LinkSeconds(job2_first, 0), 4);
  EXPECT_EQ(LinkSeconds(job2_first, 1), 6);
}

TEST(Evaluate, ExampleTwoHasTheFiguresOfThePaper) {
  const crux::Problem problem = crux::testing::Example2(2);
  const Evaluation job1_first = Window(problem, {1, 0}, 12);
  EXPECT_DOUBLE_EQ(job1_first.utilisation, 0.5);
  EXPECT_EQ(12 - job1_first.jobs[1].compute_seconds, 7);
  EXPECT_EQ(12 - job1_first.jobs[0].compute_seconds, 0);
  const Evaluation job2_first = Window(problem, {0, 1}, 12);
  EXPECT_DOUBLE_EQ(job2_first.utilisation, 115.0 / 210);
  EXPECT_EQ(12 - job2_first.jobs[1].compute_seconds, 6);
  EXPECT_EQ(12 - job2_first.jobs[0].compute_seconds, 2);
}

TEST(Evaluate, TheDefaultWindowIsAHundredIterationsOfTheSlowest) {
  const crux::Problem problem = crux::testing::Example2(2);
  EXPECT_EQ(Window(problem, {1, 0}, 0).window_seconds, 400);
}

// Half of the seeds have flows with starts of their own, every third storage traffic.
crux::testing::RandomShape Varied(crux::testing::RandomShape shape, std::uint64_t seed) {
  shape.several_starts = seed % 2 == 1;
  shape.storage = seed % 3 == 1;
  return shape;
}

TEST(ScheduleEvaluator, AgreesWithTheSimulator) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    crux::Problem problem = crux::testing::RandomProblem(
        Varied({.jobs = 5, .links = 5, .levels = 3, .flows = 3, .candidates = 2}, seed), seed);
    Random random(seed);
    // Some flows are hops of one ring.
    for (crux::ContendingJob& job : problem.jobs) {
      for (crux::Flow& flow : job.flows) {
        flow.ring = static_cast<std::int32_t>(random.Below(3)) - 1;
      }
    }
    std::vector<std::int32_t> levels;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
      levels.push_back(static_cast<std::int32_t>(random.Below(3)));
    }
    const crux::Paths paths = crux::RandomPaths(problem, seed);
    crux::Solution solution;
    double possible = 0;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
      crux::JobDecision job;
      job.level = levels[j];
      job.paths = paths[j];
      solution.jobs.push_back(job);
      possible += problem.jobs[j].flop_per_iteration / problem.jobs[j].compute_seconds;
    }
    const double window = 60;
    const auto evaluation =
        Evaluate(problem, solution, {.window_seconds = window, .simulator = {}});
    ASSERT_TRUE(evaluation.ok());
    const std::vector<crux::ContendingJobId> all = crux::AllJobs(problem.jobs.size());
    crux::EventBudget budget{1'000'000'000, 0};
    crux::ScheduleEvaluator evaluator(problem, window, budget);
    EXPECT_NEAR(evaluator.FlopRate(all, paths, levels) / possible, evaluation->utilisation, 1e-6)
        << "seed " << seed;
  }
}

TEST(Evaluate, NoPolicyBeatsTheExactOne) {
  for (std::uint64_t seed = 0; seed < Rounds(16u); ++seed) {
    const crux::Problem problem = crux::testing::RandomProblem(
        Varied({.jobs = 4, .links = 4, .levels = 3, .flows = 2, .candidates = 2}, seed), seed);
    const auto exact = crux::DecideBy(Policy::kExact, problem);
    ASSERT_TRUE(exact.ok());
    const EvaluateOptions window{.window_seconds = DefaultWindow(problem, nullptr),
                                 .simulator = {}};
    const double best = Evaluate(problem, *exact, window)->utilisation;
    for (const Policy policy : crux::AllPolicies()) {
      const auto solution = crux::DecideBy(policy, problem);
      ASSERT_TRUE(solution.ok());
      // Offsets are outside what is enumerated.
      if (policy == Policy::kCassini) continue;
      const double utilisation = Evaluate(problem, *solution, window)->utilisation;
      EXPECT_LE(utilisation, best + 1e-9) << PolicyName(policy) << " seed " << seed;
      EXPECT_GE(utilisation, policy == Policy::kCrux ? best * 0.95 : 0);
    }
  }
}

}  // namespace
}  // namespace yardmaster::sim
