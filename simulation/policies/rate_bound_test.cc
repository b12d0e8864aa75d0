#include "simulation/policies/rate_bound.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/search/schedule_evaluator.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

constexpr std::size_t kEnough = 1000;

TEST(Maximise, SolvesSmallProgramsWithKnownAnswers) {
  // 3x + 2y, x + y <= 4, x + 3y <= 6, x <= 3, y <= 9: at (3, 1).
  EXPECT_DOUBLE_EQ(Maximise({{3, 2}, {3, 9}, {{1, 1}, {1, 3}}, {4, 6}}, kEnough), 11);
  EXPECT_DOUBLE_EQ(Maximise({{3, 2}, {3, 9}, {}, {}}, kEnough), 27);
  EXPECT_DOUBLE_EQ(Maximise({{5}, {10}, {{2}}, {0}}, kEnough), 0);
  EXPECT_EQ(Maximise({}, kEnough), 0);
}

TEST(Maximise, WithoutEnoughPivotsGivesWhatNothingExceeds) {
  const LinearProgram program{{3, 2}, {3, 9}, {{1, 1}, {1, 3}}, {4, 6}};
  EXPECT_DOUBLE_EQ(Maximise(program, 0), 3 * 3 + 2 * 9);
  EXPECT_DOUBLE_EQ(Maximise(program, 1), 3 * 3 + 2 * 9);
  for (std::size_t pivots = 0; pivots < 8; ++pivots) EXPECT_GE(Maximise(program, pivots), 11);
}

// Many rows without room left: every pivot gains nothing, which is where a simplex can circle.
TEST(Maximise, EndsOnDegeneratePrograms) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    LinearProgram program;
    const std::size_t columns = 2 + random.Below(6);
    for (std::size_t c = 0; c < columns; ++c) {
      program.value.push_back(static_cast<double>(1 + random.Below(3)));
      program.most.push_back(1);
    }
    for (std::size_t r = 0; r < 12; ++r) {
      std::vector<double> row;
      for (std::size_t c = 0; c < columns; ++c) {
        row.push_back(static_cast<double>(random.Below(3)));
      }
      program.rows.push_back(row);
      program.limit.push_back(static_cast<double>(random.Below(2)));
    }
    // A little room on every row takes the degeneracy away and changes the answer by as little.
    LinearProgram roomy = program;
    for (double& limit : roomy.limit) limit += 1e-9 * (1 + random.Unit());
    const std::size_t pivots = 8 * (program.rows.size() + columns);
    EXPECT_NEAR(Maximise(program, pivots), Maximise(roomy, pivots), 1e-6) << round;
  }
}

TEST(Maximise, IsNeverBelowAFeasiblePoint) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    LinearProgram program;
    const std::size_t columns = 1 + random.Below(6);
    std::vector<double> point;
    double value = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      program.value.push_back(1e12 * random.Unit());
      program.most.push_back(1 + 30 * random.Unit());
      point.push_back(program.most[c] * random.Unit());
      value += program.value[c] * point[c];
    }
    for (std::size_t r = 0; r < 8; ++r) {
      std::vector<double> row;
      double used = 0;
      for (std::size_t c = 0; c < columns; ++c) {
        row.push_back(random.Below(2) == 0 ? 0 : random.Unit());
        used += row[c] * point[c];
      }
      program.rows.push_back(row);
      program.limit.push_back(used);
    }
    EXPECT_GE(Maximise(program, kEnough), value * (1 - 1e-9));
  }
}

TEST(RateBound, OfAJobAloneIsWhatItDoesAlone) {
  Problem problem = testing::Example1(2);
  problem.jobs.pop_back();  // computes 2 s, communicates 2 s, no overlap, ready at 0
  RateBound bound(problem, 11);
  // Computing in 2-4, 6-8 and 10-11.
  EXPECT_NEAR(bound.Of(AllJobs(1), {{0}}), 5.0 / 11 * 5e9, 10);
}

TEST(RateBound, OfTwoJobsOnAFullLinkFavoursTheIntenseOne) {
  Problem problem;
  problem.links = {{"l", 8}};
  for (const double flop : {4e12, 1e12}) {
    ContendingJob job;
    job.id = std::to_string(problem.jobs.size());
    job.gpus = 1;
    job.flop_per_iteration = flop;
    job.compute_seconds = 1;
    job.communication_start = 1;
    job.flows = {{"f", 1e9, {{0}}}};
    problem.jobs.push_back(job);
  }
  // Each alone is on the link half of the time: together they can interleave, so nothing is lost.
  RateBound bound(problem, 100);
  EXPECT_NEAR(bound.Of(AllJobs(2), {{0}, {0}}), 2.5e12, 1e6);
  // With twice the bytes the link is full with one job, two thirds of the time.
  for (ContendingJob& job : problem.jobs) job.flows[0].bytes = 2e9;
  RateBound full(problem, 300);
  EXPECT_NEAR(full.Of(AllJobs(2), {{0}, {0}}), 4e12 / 3 + 1e12 / 2 * (1 - 2.0 / 3), 1e10);
}

TEST(RateBound, NoLevelsBeatIt) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    testing::RandomShape shape{.jobs = 5, .links = 4, .levels = 3, .flows = 2, .candidates = 2};
    shape.several_starts = seed % 2 == 1;
    const Problem problem = testing::RandomProblem(shape, seed);
    const Paths paths = RandomPaths(problem, seed);
    const auto all = AllJobs(problem.jobs.size());
    EventBudget budget{1'000'000'000, 0};
    ScheduleEvaluator evaluator(problem, 40, budget);
    RateBound bounds(problem, 40);
    const double bound = bounds.Of(all, paths);
    Random random(seed);
    for (int round = 0; round < 20; ++round) {
      std::vector<std::int32_t> levels;
      for (int j = 0; j < 5; ++j) levels.push_back(static_cast<std::int32_t>(random.Below(3)));
      const double rate = evaluator.FlopRate(all, paths, levels);
      EXPECT_LE(rate, bound) << seed;
      // Those of the highest level get done what they get done alone, and the rest what that
      // leaves.
      Served first;
      std::vector<ContendingJobId> rest;
      const std::int32_t top = *std::max_element(levels.begin(), levels.end());
      for (const ContendingJobId j : all)
        (levels[j.index()] == top ? first.jobs : rest).push_back(j);
      first.flop_rate = evaluator.FlopRate(first.jobs, paths, levels);
      EXPECT_LE(rate, first.flop_rate + bounds.Of(rest, paths, std::span(&first, 1)));
    }
  }
}

}  // namespace
}  // namespace yardmaster::crux
