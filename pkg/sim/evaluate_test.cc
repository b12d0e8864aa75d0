#include "pkg/sim/evaluate.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

#include "pkg/base/random.h"
#include "pkg/crux/decide.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/testing/problems.h"
#include "pkg/sim/phase_judge.h"

namespace yardmaster::sim {
namespace {

using crux::Policy;

Evaluation Window(const crux::Problem& problem, const std::vector<std::int32_t>& levels,
                  double seconds) {
  const crux::Solution solution = crux::Describe(problem, crux::SelectPaths(problem), levels);
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

TEST(PhaseJudge, AgreesWithTheSimulator) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const crux::Problem problem = crux::testing::RandomProblem(
        Varied({.jobs = 5, .links = 5, .levels = 3, .flows = 3, .candidates = 2}, seed), seed);
    Random random(seed);
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
    std::vector<std::int32_t> all(problem.jobs.size());
    std::iota(all.begin(), all.end(), 0);
    PhaseJudge judge(problem, window);
    EXPECT_NEAR(judge.FlopRate(all, paths, levels) / possible, evaluation->utilisation, 1e-6)
        << "seed " << seed;
  }
}

TEST(PhaseJudge, NoLevelsBeatTheBound) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const crux::Problem problem = crux::testing::RandomProblem(
        Varied({.jobs = 5, .links = 4, .levels = 3, .flows = 2, .candidates = 2}, seed), seed);
    const bool background =
        std::any_of(problem.jobs.begin(), problem.jobs.end(), [](const crux::Job& job) {
          return std::any_of(job.flows.begin(), job.flows.end(),
                             [](const crux::Flow& flow) { return flow.background; });
        });
    const crux::Paths paths = crux::RandomPaths(problem, seed);
    PhaseJudge judge(problem, 40);
    const std::vector<std::int32_t> all = {0, 1, 2, 3, 4};
    const double bound = judge.RateBound(all, paths, {});
    Random random(seed);
    for (int round = 0; round < 20; ++round) {
      std::vector<std::int32_t> levels;
      for (int j = 0; j < 5; ++j) levels.push_back(static_cast<std::int32_t>(random.Below(3)));
      const double rate = judge.FlopRate(all, paths, levels);
      EXPECT_LE(rate, bound) << seed;
      // What runs in the background depends on who is below.
      if (background) continue;
      // Those of the highest level get done what they get done alone, and the rest what that
      // leaves.
      crux::Served first;
      std::vector<std::int32_t> rest;
      const std::int32_t top = *std::max_element(levels.begin(), levels.end());
      for (const std::int32_t j : all) (levels[j] == top ? first.jobs : rest).push_back(j);
      first.flop_rate = judge.FlopRate(first.jobs, paths, levels);
      EXPECT_LE(rate, first.flop_rate + judge.RateBound(rest, paths, std::span(&first, 1)));
    }
  }
}

TEST(PhaseJudge, FindsThePaperSchedulesBest) {
  for (const crux::Problem& problem : {crux::testing::Example1(2), crux::testing::Example2(2)}) {
    crux::Options options;
    options.judge = MakeJudge();
    const auto exact = crux::Decide(problem, Policy::kExact, options);
    const auto crux = crux::Decide(problem, Policy::kCrux, options);
    ASSERT_TRUE(exact.ok());
    ASSERT_TRUE(crux.ok());
    EXPECT_EQ(crux->jobs[0].level, 0);
    EXPECT_EQ(crux->jobs[1].level, 1);
    EXPECT_GE(Evaluate(problem, *crux)->utilisation,
              0.999 * Evaluate(problem, *exact)->utilisation);
  }
}

// With a judge, too, only an arrival that gets in the way moves others, and flapping settles.
TEST(PhaseJudge, FlappingArrivalsSettle) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const crux::Problem with = crux::testing::RandomProblem(
        {.jobs = 5, .links = 5, .levels = 3, .flows = 2, .candidates = 2}, seed);
    crux::Problem without = with;
    without.jobs.pop_back();
    crux::Options options;
    options.judge = MakeJudge(10);
    crux::Solution now = *crux::Decide(without, Policy::kCrux, options);
    std::vector<crux::Paths> paths;
    std::vector<std::vector<std::int32_t>> levels;
    for (int round = 0; round < 5; ++round) {
      options.previous = now;
      options.previous->jobs.emplace_back();
      options.previous->jobs.back().level = -1;
      options.changed = {4};
      now = *crux::Decide(with, Policy::kCrux, options);
      paths.push_back(crux::PathsOf(now));
      levels.emplace_back();
      for (const crux::JobDecision& job : now.jobs) levels.back().push_back(job.level);

      now.jobs.pop_back();
      options.previous = now;
      options.changed = {};
      now = *crux::Decide(without, Policy::kCrux, options);
    }
    EXPECT_EQ(paths[4], paths[3]) << seed;
    EXPECT_EQ(levels[4], levels[3]) << seed;
  }
}

TEST(Evaluate, NoPolicyBeatsTheExactOne) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const crux::Problem problem = crux::testing::RandomProblem(
        Varied({.jobs = 4, .links = 4, .levels = 3, .flows = 2, .candidates = 2}, seed), seed);
    crux::Options options;
    options.judge = MakeJudge();
    const auto exact = crux::Decide(problem, Policy::kExact, options);
    ASSERT_TRUE(exact.ok());
    const EvaluateOptions window{.window_seconds = DefaultWindow(problem, nullptr),
                                 .simulator = {}};
    const double best = Evaluate(problem, *exact, window)->utilisation;
    for (const Policy policy : crux::AllPolicies()) {
      const auto solution = crux::Decide(problem, policy, options);
      ASSERT_TRUE(solution.ok());
      // Offsets are outside what is enumerated.
      if (policy == Policy::kCassini) continue;
      const double utilisation = Evaluate(problem, *solution, window)->utilisation;
      EXPECT_LE(utilisation, best + 1e-9) << PolicyName(policy) << " seed " << seed;
      EXPECT_GE(utilisation, policy == Policy::kCrux ? best * (1 - 2e-3) : 0);
    }
  }
}

}  // namespace
}  // namespace yardmaster::sim
