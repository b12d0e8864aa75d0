#include "simulation/policies/baselines.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/crux/draft.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Loads = std::vector<std::vector<LinkSeconds>>;
using Order = std::vector<ContendingJobId>;

ContendingJobId Job(std::int32_t j) { return ContendingJobId(j); }

Loads RandomLoads(std::size_t jobs, std::int32_t links, Random& random) {
  Loads loads(jobs);
  for (auto& job : loads) {
    for (std::int32_t link = 0; link < links; ++link) {
      if (random.Below(2) == 0) job.push_back({link, 0.1 + random.Unit()});
    }
  }
  return loads;
}

// When each job is done on the last of its links, all of which serve the jobs in this order; the
// sum.
double SumOfCompletions(const Loads& loads, const Order& order) {
  std::map<std::int32_t, double> busy;
  double sum = 0;
  for (const ContendingJobId j : order) {
    double done = 0;
    for (const LinkSeconds& load : loads[j.index()]) {
      done = std::max(done, busy[load.link] += load.seconds);
    }
    sum += done;
  }
  return sum;
}

TEST(SincroniaOrder, OnOneLinkTheShortestGoesFirst) {
  EXPECT_THAT(SincroniaOrder(1, Loads{{{0, 3}}, {{0, 1}}, {{0, 2}}, {{0, 4}}}),
              ElementsAre(Job(1), Job(2), Job(0), Job(3)));
}

TEST(SincroniaOrder, JobsThatSendNothingGoFirst) {
  EXPECT_THAT(SincroniaOrder(0, Loads{}), IsEmpty());
  EXPECT_THAT(SincroniaOrder(0, Loads(2)), ElementsAre(Job(0), Job(1)));
  EXPECT_THAT(SincroniaOrder(2, Loads{{{0, 1}}, {}, {{0, 2}}, {}}),
              ElementsAre(Job(1), Job(3), Job(0), Job(2)));
}

// The bound that the authors prove for bottleneck-select-scale-iterate on concurrent open shops.
TEST(SincroniaOrder, TakesAtMostTwiceTheLeastSumOfCompletionTimes) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Loads loads = RandomLoads(6, 4, random);
    const Order order = SincroniaOrder(4, loads);
    Order each = order;
    std::sort(each.begin(), each.end());
    ASSERT_EQ(each, AllJobs(6));
    double least = std::numeric_limits<double>::infinity();
    do {
      least = std::min(least, SumOfCompletions(loads, each));
    } while (std::next_permutation(each.begin(), each.end()));
    EXPECT_LE(SumOfCompletions(loads, order), 2 * least + 1e-9) << seed;
  }
}

TEST(LevelPerJob, TheFirstGetALevelEachAndTheRestShareTheLowest) {
  const Order order = {Job(2), Job(0), Job(3), Job(1)};
  EXPECT_THAT(LevelPerJob(order, 3), ElementsAre(1, 0, 2, 0));
  EXPECT_THAT(LevelPerJob(order, 1), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(LevelPerJob(order, 8), ElementsAre(6, 4, 7, 5));
  EXPECT_THAT(LevelPerJob({}, 3), IsEmpty());
}

TEST(BalancedLevels, FallAlongTheOrderAndHoldEqualNumbersUpToOne) {
  EXPECT_THAT(BalancedLevels({}, 3), IsEmpty());
  for (std::int32_t jobs = 1; jobs < 12; ++jobs) {
    for (std::int32_t levels = 1; levels < 9; ++levels) {
      Random random(static_cast<std::uint64_t>(jobs));
      Order order = AllJobs(static_cast<std::size_t>(jobs));
      random.Shuffle(order);
      const auto given = BalancedLevels(order, levels);
      std::vector<int> count(static_cast<std::size_t>(levels), 0);
      for (std::size_t i = 0; i < order.size(); ++i) {
        const std::int32_t level = given[order[i].index()];
        ASSERT_TRUE(level >= 0 && level < levels);
        ++count[level];
        if (i > 0) {
          EXPECT_LE(level, given[order[i - 1].index()]);
        }
      }
      const auto [least, most] = std::minmax_element(count.begin(), count.end());
      EXPECT_LE(*most - *least, 1) << jobs << " jobs, " << levels << " levels";
    }
  }
}

TEST(VarysOrder, TheShortestBottleneckGoesFirstAndTheLowerOfEquals) {
  EXPECT_THAT(VarysOrder(Loads{{{0, 3}}, {{0, 1}, {1, 2}}, {}, {{2, 2}}}),
              ElementsAre(Job(2), Job(1), Job(3), Job(0)));
}

// Two jobs, each with one flow over link 0 or link 1; the second has further to go.
class TacclTest : public ::testing::Test {
 protected:
  TacclTest() {
    problem_.jobs[0].flows[0].paths = {{0}, {1}};
    problem_.jobs[1].flows[0].paths = {{0, 2}, {1, 3}};
  }
  Problem problem_ = testing::WithLinks(4, 4,
                                        {testing::OneFlowJob("near", 1e12, 8, 1, 1, 1, {0}),
                                         testing::OneFlowJob("far", 1e12, 8, 1, 1, 1, {0})});
};

TEST_F(TacclTest, TheLongerDistanceChoosesFirstAndIsCarriedFirst) {
  const TacclPlan plan = TacclSchedule(problem_, 4);
  EXPECT_EQ(plan.paths, (Paths{{1}, {0}}));
  EXPECT_THAT(plan.levels, ElementsAre(2, 3));
  EXPECT_THAT(TacclSchedule(problem_, 1).levels, ElementsAre(0, 0));
}

TEST_F(TacclTest, AllTogetherNothingIsHeld) {
  EXPECT_EQ(TacclSchedule(problem_, 4, TacclReading::kGlobal, {{0}, {1}}).paths, (Paths{{1}, {0}}));
}

TEST_F(TacclTest, AtArrivalAJobFitsInAndTheOthersStay) {
  const auto paths = [&](const Paths& held) {
    return TacclSchedule(problem_, 4, TacclReading::kAtArrival, held).paths;
  };
  EXPECT_EQ(paths({{0}, {}}), (Paths{{0}, {1}}));
  EXPECT_EQ(paths({{}, {1}}), (Paths{{0}, {1}}));
  EXPECT_EQ(paths({{1}, {1}}), (Paths{{1}, {1}}));
}

TEST_F(TacclTest, ForItselfAJobSeesNoOther) {
  EXPECT_EQ(TacclSchedule(problem_, 4, TacclReading::kPerJob).paths, (Paths{{0}, {0}}));
  // But all flows of its own.
  problem_.jobs[0].flows.push_back(problem_.jobs[0].flows[0]);
  EXPECT_EQ(TacclSchedule(problem_, 4, TacclReading::kPerJob).paths, (Paths{{0, 1}, {0}}));
}

std::vector<double> OffsetsOf(const Problem& problem, const Paths& paths) {
  const Draft draft(problem, paths);
  return CassiniOffsets(problem, draft.loads, draft.pairs);
}

// Jobs that compute for 1 s and then keep link 0 busy for `seconds` each.
Problem OnOneLink(const std::vector<double>& seconds) {
  Problem problem = testing::WithLinks(1, 1, {});
  for (const double busy : seconds) {
    problem.jobs.push_back(testing::OneFlowJob("j", 1e12, 8, 1, 1, busy, {0}));
  }
  return problem;
}

TEST(CassiniOffsets, AJobThatMeetsNobodyStaysWhereItIs) {
  EXPECT_THAT(OffsetsOf(testing::WithLinks(1, 1, {}), {}), IsEmpty());
  EXPECT_THAT(OffsetsOf(OnOneLink({0.5}), {{0}}), ElementsAre(0));
}

TEST(CassiniOffsets, JobsOfOnePeriodThatFitAreNeverBusyTogether) {
  const std::vector<double> offsets = OffsetsOf(OnOneLink({0.5, 0.5, 0.5}), {{0}, {0}, {0}});
  ASSERT_EQ(offsets.size(), 3u);
  constexpr double kPeriod = 1.5;
  for (std::size_t a = 0; a < 3; ++a) {
    EXPECT_GE(offsets[a], 0);
    EXPECT_LT(offsets[a], kPeriod);
    for (std::size_t b = 0; b < 3; ++b) {
      if (a == b) continue;
      const double behind = std::fmod(offsets[b] - offsets[a] + kPeriod, kPeriod);
      EXPECT_GE(behind, 0.5 - 1e-9);
    }
  }
}

TEST(CassiniOffsets, AreTheSameEveryTimeAndWithinAPeriod) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem =
        testing::RandomProblem({.jobs = 6, .links = 5, .flows = 2, .candidates = 2}, seed);
    const Paths paths = RandomPaths(problem, seed);
    const std::vector<double> offsets = OffsetsOf(problem, paths);
    EXPECT_EQ(offsets, OffsetsOf(problem, paths));
    const Draft draft(problem, paths);
    for (std::size_t j = 0; j < offsets.size(); ++j) {
      EXPECT_GE(offsets[j], 0);
      EXPECT_LT(offsets[j],
                IterationSeconds(problem.jobs[j], draft.traffic[j].communication_seconds));
    }
  }
}

}  // namespace
}  // namespace yardmaster::crux
