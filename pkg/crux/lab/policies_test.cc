#include "pkg/crux/lab/policies.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "pkg/base/random.h"
#include "pkg/crux/lab/rate_bound.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

using ::testing::HasSubstr;

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
  Options options;
  options.previous = *DecideBy(Policy::kEcmp, problem);
  const auto held = DecideBy(Policy::kPublished, problem, options);
  const auto anew = DecideBy(Policy::kPublished, problem);
  ASSERT_TRUE(held.ok() && anew.ok());
  EXPECT_EQ(PathsOf(*held), PathsOf(*anew));
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

TEST(Policies, ExactRefusesMoreStreamsThanCanBeSimulated) {
  const Problem problem = testing::WithLinks(
      2, 1, {testing::ManyStartsJob("a", 40, {0}), testing::ManyStartsJob("b", 40, {0})});
  const auto solution = DecideBy(Policy::kExact, problem);
  ASSERT_FALSE(solution.ok());
  EXPECT_THAT(MessageOf(solution.status()), HasSubstr("communicationStart"));
}

}  // namespace
}  // namespace yardmaster::crux
