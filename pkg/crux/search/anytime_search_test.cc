#include "pkg/crux/search/anytime_search.h"

#include <gtest/gtest.h>
#include <string>

#include "pkg/crux/decide.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

Problem Crowded(std::uint64_t seed) {
  return testing::RandomProblem({.jobs = 5, .links = 4, .levels = 3, .flows = 2, .candidates = 2},
                                seed);
}

double RateOf(const Problem& problem, const Solution& solution, double iterations) {
  const std::vector<ContendingJobId> all = AllJobs(problem.jobs.size());
  std::vector<std::int32_t> levels;
  for (const JobDecision& job : solution.jobs) levels.push_back(job.level);
  EventBudget budget{1'000'000'000, 0};
  ScheduleEvaluator evaluator(problem, WindowOf(problem, all, iterations), budget);
  return evaluator.FlopRate(all, PathsOf(solution), levels);
}

Solution With(const Problem& problem, std::int64_t events, DecisionReport* report = nullptr) {
  Options options;
  options.search.event_budget = events;
  return *Decide(problem, options, {}, report);
}

TEST(AnytimeSearch, MoreWorkIsNeverWorse) {
  const double window = AnytimeSearchOptions().window_iterations;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Problem problem = Crowded(seed);
    double before = 0;
    for (const std::int64_t events : {0, 5'000, 20'000, 80'000, 320'000, 2'000'000}) {
      const double rate = RateOf(problem, With(problem, events), window);
      // The search sees the windows of its components, which differ a little from this one.
      EXPECT_GE(rate, before * (1 - 0.005)) << seed << " at " << events;
      before = rate;
    }
  }
}

// What was found before the work allowed is done is kept.
TEST(AnytimeSearch, ABudgetThatRunsOutKeepsTheBestSoFar) {
  int better = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Problem problem = Crowded(seed);
    DecisionReport report;
    const Solution some = With(problem, 60'000, &report);
    if (report.events < 60'000) continue;  // it was done before
    better += RateOf(problem, some, 25) > RateOf(problem, With(problem, 0), 25) * 1.001 ? 1 : 0;
  }
  EXPECT_GT(better, 3);
}

// Simulated events that the search spends on the schedule given and on ranking, without trying
// others.
std::int64_t SpentOnRanking(const Problem& problem, std::int64_t budget_events,
                            std::size_t combinations) {
  AnytimeSearchOptions options;
  options.max_combinations = combinations;
  options.max_path_sets = 0;
  options.max_descents = 0;
  const Solution start = With(problem, 0);
  SearchState state{PathsOf(start), {}};
  for (const JobDecision& job : start.jobs) state.levels.push_back(job.level);
  const MoveCosts costs{std::vector<double>(problem.jobs.size()),
                        std::vector<double>(problem.jobs.size())};
  EventBudget budget{budget_events, 0};
  ImproveSchedule(problem, 3, costs, {}, options, budget, state);
  return budget.spent;
}

TEST(AnytimeSearch, RankingPathsIsPaidFromTheSameBudgetAndLeavesMostOfIt) {
  const Problem problem = testing::RandomProblem(
      {.jobs = 6, .links = 40, .levels = 3, .flows = 12, .candidates = 2}, 1);
  const std::int64_t one = SpentOnRanking(problem, 1'000'000'000, 1);
  const std::int64_t many = SpentOnRanking(problem, 1'000'000'000, 1024);
  EXPECT_GT(many, one + 500);
  const std::int64_t given = one - one / 100;  // the simulation of the schedule given
  EXPECT_LT(SpentOnRanking(problem, 2 * given, 1'000'000), 2 * given);
}

// Eight jobs that can all have an uplink of their own: nothing is left to gain at the first look.
TEST(AnytimeSearch, StopsAtTheBound) {
  Problem problem = testing::WithLinks(8, 16, {});
  for (int j = 0; j < 8; ++j) {
    ContendingJob job{"j" + std::to_string(j), 32, 1e15, 1, 0.5, {}};
    for (int f = 0; f < 2; ++f) {
      Flow flow{"f" + std::to_string(f), 0.3e9, {}};
      for (std::int32_t l = 0; l < 16; ++l) flow.paths.Add(std::vector{l});
      flow.ring = 0;
      job.flows.push_back(std::move(flow));
    }
    problem.jobs.push_back(std::move(job));
  }
  DecisionReport report;
  With(problem, 100'000'000, &report);
  EXPECT_LT(report.events, 100'000);
}

TEST(AnytimeSearch, MoreStreamsThanCanBeSimulatedChangeNothing) {
  const Problem problem = testing::WithLinks(
      2, 2, {testing::ManyStartsJob("a", 40, {0, 1}), testing::ManyStartsJob("b", 40, {0, 1})});
  const SearchState before{{std::vector<std::int32_t>(40, 0), std::vector<std::int32_t>(40, 0)},
                           {0, 0}};
  SearchState state = before;
  EventBudget budget{1'000'000, 0};
  const SearchReport report =
      ImproveSchedule(problem, 2, {{0, 0}, {0, 0}}, {}, AnytimeSearchOptions(), budget, state);
  EXPECT_EQ(state, before);
  EXPECT_EQ(budget.spent, 0);
  EXPECT_EQ(report.evaluations, 0);
}

// Of three jobs that share links two can be simulated together.
TEST(AnytimeSearch, JobsThatCannotBeSimulatedTogetherAreSearchedWithOthers) {
  const Problem problem = testing::WithLinks(
      3, 1,
      {testing::ManyStartsJob("a", 40, {0}), testing::ManyStartsJob("b", 40, {0}),
       testing::OneFlowJob("c", 1e12, 8, 1, 1, 0.5, {0})});
  DecisionReport report;
  With(problem, 100'000, &report);
  EXPECT_GT(report.searches, 0);
  EXPECT_GT(report.evaluations, 0);
}

TEST(AnytimeSearch, HopsOfARingMoveAsOne) {
  // A ring over a fast and a slow link, and a job below it on the fast link alone: the ring's fast
  // hop takes no more than its slow hop passes on.
  Problem problem = testing::WithLinks(2, 2, {});
  problem.links[0].gbps = 16;
  ContendingJob ring{"ring", 8, 1e12, 1, 1, {}};
  for (std::int32_t hop = 0; hop < 2; ++hop) {
    Flow flow{"h" + std::to_string(hop), 1e9, {}};
    flow.paths.Add(std::vector{hop});
    flow.ring = 0;
    ring.flows.push_back(std::move(flow));
  }
  problem.jobs = {ring, testing::OneFlowJob("other", 1e12, 8, 0.1, 1, 0.5, {0})};
  EventBudget budget{1'000'000, 0};
  constexpr double kWindow = 0.61;
  ScheduleEvaluator evaluator(problem, kWindow, budget);
  const std::vector<ContendingJobId> both = AllJobs(2);
  const Paths paths = {{0, 0}, {0}};
  const std::vector<std::int32_t> levels = {1, 0};
  // The ring takes 8 of 16 Gbit/s; the other job is done sending at 0.5 s and computes until 0.6 s.
  EXPECT_NEAR(evaluator.FlopRate(both, paths, levels) * kWindow, 1e12, 1e3);
  // A hop that moves on its own would take all of the fast link until 0.5 s.
  for (Flow& flow : problem.jobs[0].flows) flow.ring = -1;
  EXPECT_EQ(evaluator.FlopRate(both, paths, levels), 0);
}

}  // namespace
}  // namespace yardmaster::crux
