#include "pkg/crux/search/group_evaluator.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

using ::testing::IsEmpty;

constexpr double kWindow = 40;

// Few enough jobs on enough links that they fall into several groups.
Problem Sparse(std::uint64_t seed) {
  return testing::RandomProblem(
      {.jobs = 8, .links = 16, .levels = 3, .flows = 2, .candidates = 2, .storage = true}, seed);
}

std::vector<std::int32_t> RandomLevels(std::size_t jobs, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int32_t> levels;
  for (std::size_t j = 0; j < jobs; ++j) {
    levels.push_back(static_cast<std::int32_t>(random.Below(3)));
  }
  return levels;
}

// A problem with an evaluator that has a budget of its own.
struct Evaluated {
  explicit Evaluated(Problem of, std::int64_t events = 1'000'000'000)
      : problem(std::move(of)), budget{events, 0} {}
  Problem problem;
  EventBudget budget;
  ScheduleEvaluator evaluator{problem, kWindow, budget};
  GroupEvaluator groups{problem, evaluator};
  std::vector<ContendingJobId> all = AllJobs(problem.jobs.size());
};

std::set<std::int32_t> LinksOf(const ContendingJob& job, const std::vector<std::int32_t>& paths) {
  std::set<std::int32_t> links;
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    const auto path = job.flows[f].paths[paths[f]];
    links.insert(path.begin(), path.end());
  }
  return links;
}

TEST(GroupEvaluator, NoJobsAreInNoGroupsAndDoNothing) {
  Evaluated none(testing::WithLinks(2, 1, {}));
  EXPECT_THAT(none.groups.GroupsOf({}, {}), IsEmpty());
  EXPECT_EQ(none.groups.Rate({}, {}, {}), 0);
  EXPECT_THAT(none.groups.JobRates({}, {}, {}), IsEmpty());
  EXPECT_EQ(none.groups.evaluations(), 0);
}

TEST(GroupEvaluator, GroupsShareNoLinkAndHoldTogetherByLinks) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Evaluated e(Sparse(seed));
    const Paths paths = RandomPaths(e.problem, seed);
    std::vector<ContendingJobId> some = e.all;
    some.erase(some.begin() + 2);  // one that the others are not joined through
    std::vector<ContendingJobId> seen;
    std::set<std::int32_t> taken;
    for (const GroupEvaluator::Group& group : e.groups.GroupsOf(some, paths)) {
      EXPECT_EQ(group.contended, group.jobs.size() > 1);
      EXPECT_TRUE(std::is_sorted(group.jobs.begin(), group.jobs.end()));
      seen.insert(seen.end(), group.jobs.begin(), group.jobs.end());
      // Reached from the first job over shared links.
      std::set<std::int32_t> links;
      std::vector<ContendingJobId> rest = group.jobs;
      for (bool more = true; more && !rest.empty();) {
        more = false;
        for (std::size_t i = 0; i < rest.size(); ++i) {
          const auto mine = LinksOf(e.problem.jobs[rest[i].index()], paths[rest[i].index()]);
          const bool meets = links.empty() || std::any_of(mine.begin(), mine.end(), [&](auto link) {
                               return links.count(link) != 0;
                             });
          if (!meets) continue;
          links.insert(mine.begin(), mine.end());
          rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
          more = true;
          break;
        }
      }
      EXPECT_THAT(rest, IsEmpty());
      for (const std::int32_t link : links) EXPECT_TRUE(taken.insert(link).second);
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, some);
  }
}

TEST(GroupEvaluator, TheGroupsTogetherDoWhatAllJobsDoInOneSimulation) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Evaluated e(Sparse(seed));
    const Paths paths = RandomPaths(e.problem, seed);
    const auto levels = RandomLevels(e.all.size(), seed);
    const double rate = e.groups.Rate(e.all, paths, levels);
    const double together = e.evaluator.FlopRate(e.all, paths, levels);
    EXPECT_NEAR(rate / together, 1, 1e-6) << seed;
    const std::vector<double> of_jobs = e.evaluator.job_rates();
    const std::vector<double> rates = e.groups.JobRates(e.all, paths, levels);
    ASSERT_EQ(rates.size(), of_jobs.size());
    for (std::size_t j = 0; j < rates.size(); ++j) {
      EXPECT_NEAR(rates[j] / of_jobs[j], 1, 1e-6) << seed;
    }
    EXPECT_NEAR(std::accumulate(rates.begin(), rates.end(), 0.0) / rate, 1, 1e-9);
  }
}

TEST(GroupEvaluator, OnlyAGroupThatChangedIsSimulatedAgain) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Evaluated e(Sparse(seed));
    const Paths paths = RandomPaths(e.problem, seed);
    auto levels = RandomLevels(e.all.size(), seed);
    const double rate = e.groups.Rate(e.all, paths, levels);
    const std::int64_t once = e.groups.evaluations();
    EXPECT_EQ(once, static_cast<std::int64_t>(e.groups.GroupsOf(e.all, paths).size()));
    EXPECT_EQ(e.groups.Rate(e.all, paths, levels), rate);
    for (std::int32_t& level : levels) level = 2 * level + 5;  // the same order
    EXPECT_EQ(e.groups.Rate(e.all, paths, levels), rate);
    EXPECT_EQ(e.groups.evaluations(), once);
    Paths others = paths;
    others[0][0] = e.problem.jobs[0].flows[0].paths.size() - 1 - paths[0][0];
    if (others == paths) continue;
    e.groups.Rate(e.all, others, levels);
    const auto now = e.groups.GroupsOf(e.all, others);
    std::int64_t changed = 0;
    const auto before = e.groups.GroupsOf(e.all, paths);
    for (const auto& group : now) {
      const bool with_mover = group.jobs.front() == e.all.front();
      const bool known = std::any_of(before.begin(), before.end(),
                                     [&](const auto& old) { return old.jobs == group.jobs; });
      changed += with_mover || !known ? 1 : 0;
    }
    EXPECT_EQ(e.groups.evaluations(), once + changed);
  }
}

TEST(GroupEvaluator, AnAnswerGivenAfterTheBudgetRanOutIsNotRemembered) {
  Evaluated e(Sparse(1), 3);
  const Paths paths = RandomPaths(e.problem, 1);
  const auto levels = RandomLevels(e.all.size(), 1);
  e.groups.GroupRate(e.all, paths, levels);
  ASSERT_TRUE(e.groups.exhausted());
  e.budget.left = 1'000'000;
  Evaluated whole(Sparse(1));
  EXPECT_EQ(e.groups.GroupRate(e.all, paths, levels),
            whole.groups.GroupRate(whole.all, paths, levels));
}

TEST(GroupEvaluator, TheLoneRateIsReachedByAJobOfOneFlowAndExceededByNone) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const bool one_flow = seed % 2 == 0;
    Evaluated e(testing::RandomProblem({.jobs = 4,
                                        .links = 6,
                                        .flows = one_flow ? 1 : 4,
                                        .candidates = 2,
                                        .several_starts = !one_flow,
                                        .storage = !one_flow},
                                       seed));
    const Paths paths = RandomPaths(e.problem, seed);
    const auto levels = RandomLevels(e.all.size(), seed);
    for (const ContendingJobId j : e.all) {
      const ContendingJob& job = e.problem.jobs[j.index()];
      // The window may begin and end anywhere in an iteration.
      const double iteration = job.flop_per_iteration / kWindow;
      const double rate = e.groups.Rate({&j, 1}, paths, levels);
      // What runs now and then is left out, so that it is an upper bound.
      LoadCounter counter(e.problem, CountedFlows::kEveryIteration);
      const double lone = job.flop_per_iteration /
                          IterationSeconds(job, counter.SpanSeconds(job, paths[j.index()]));
      EXPECT_LE(rate, lone + iteration);
      if (one_flow) {
        EXPECT_GE(rate, lone - iteration);
      }
    }
  }
}

}  // namespace
}  // namespace yardmaster::crux
