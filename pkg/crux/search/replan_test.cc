#include "pkg/crux/search/replan.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "pkg/crux/decide.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

using ::testing::Each;

constexpr std::int32_t kJobs = 16;
constexpr std::int32_t kFlows = 4;

// Each job sends four flows over any of as many links as there are flows, for a third of its time
// each.
Problem Uplinks() {
  Problem problem = testing::WithLinks(8, kJobs * kFlows, {});
  for (std::int32_t j = 0; j < kJobs; ++j) {
    ContendingJob job{"job" + std::to_string(j), 8, 1e12 * (1 + j), 1, 1, {}};
    for (std::int32_t f = 0; f < kFlows; ++f) {
      Flow flow{"f" + std::to_string(f), 0.5e9, {}};
      flow.ring = 0;
      for (std::int32_t link = 0; link < kJobs * kFlows; ++link) flow.paths.Add(std::vector{link});
      job.flows.push_back(std::move(flow));
    }
    problem.jobs.push_back(std::move(job));
  }
  return problem;
}

// All jobs on the same four links.
SearchState Crowded() {
  SearchState state;
  for (std::int32_t j = 0; j < kJobs; ++j) {
    state.paths.push_back({0, 1, 2, 3});
    state.levels.push_back(0);
  }
  return state;
}

MoveCosts Free() { return {std::vector<double>(kJobs, 0), std::vector<double>(kJobs, 0)}; }

SearchReport Improve(const Problem& problem, const MoveCosts& costs, EventBudget& budget,
                     SearchState& state) {
  return Replan(problem, problem.levels, costs, {}, {}, {}, budget, state);
}

double Alone(const Problem& problem) {
  double rate = 0;
  for (const ContendingJob& job : problem.jobs) rate += job.flop_per_iteration / 1.5;
  return rate;
}

TEST(Replan, ManyJobsLeaveFullLinksTogether) {
  const Problem problem = Uplinks();
  EventBudget budget{1'000'000, 0};
  SearchState state = Crowded();
  const SearchReport report = Improve(problem, Free(), budget, state);
  EXPECT_LT(report.before, 0.6 * Alone(problem));
  EXPECT_GE(report.after, 0.999 * Alone(problem));
  EXPECT_TRUE(report.at_bound);
}

TEST(Replan, APlanThatCostsMoreThanItGainsIsNotTaken) {
  const Problem problem = Uplinks();
  MoveCosts costs = Free();
  std::fill(costs.paths.begin(), costs.paths.end(), Alone(problem));
  EventBudget budget{1'000'000, 0};
  SearchState state = Crowded();
  Improve(problem, costs, budget, state);
  EXPECT_EQ(state.paths, Crowded().paths);
}

TEST(Replan, JobsInNobodysWayStayWhereTheyAre) {
  const Problem problem = Uplinks();
  SearchState state = Crowded();
  // Two jobs share links; each of the others has four of its own.
  for (std::int32_t j = 2; j < kJobs; ++j) {
    for (std::int32_t f = 0; f < kFlows; ++f) {
      state.paths[static_cast<std::size_t>(j)][static_cast<std::size_t>(f)] = j * kFlows + f;
    }
  }
  const SearchState before = state;
  MoveCosts costs = Free();
  std::fill(costs.paths.begin(), costs.paths.end(), 1e9);
  EventBudget budget{1'000'000, 0};
  const SearchReport report = Improve(problem, costs, budget, state);
  EXPECT_GT(report.after, report.before);
  for (std::size_t j = 2; j < kJobs; ++j) EXPECT_EQ(state.paths[j], before.paths[j]) << j;
}

TEST(Replan, SpendsAtMostHalfOfTheBudgetAndMayRunOutOfIt) {
  const Problem problem = Uplinks();
  for (const std::int64_t events : {100, 10'000, 100'000}) {
    EventBudget budget{events, 0};
    SearchState state = Crowded();
    const SearchReport report = Improve(problem, Free(), budget, state);
    // A plan that was begun is paid for.
    EXPECT_LE(budget.spent, events / 2 + 2000) << events;
    EXPECT_GE(report.after, report.before);
  }
}

TEST(Replan, MoreStreamsThanCanBeSimulatedChangeNothing) {
  Problem problem = Uplinks();
  // Every flow starts at an instant of its own: five streams of each job are more than fit.
  for (ContendingJob& job : problem.jobs) {
    for (std::int32_t f = 0; f < kFlows; ++f) {
      job.flows[static_cast<std::size_t>(f)].communication_start = 0.5 + 0.1 * f;
    }
    job.flows.push_back(job.flows.back());
    job.flows.back().communication_start = 0.95;
  }
  SearchState state = Crowded();
  for (auto& paths : state.paths) paths.push_back(4);
  const SearchState before = state;
  EventBudget budget{1'000'000, 0};
  Improve(problem, Free(), budget, state);
  EXPECT_EQ(state, before);
  EXPECT_EQ(budget.spent, 0);
}

// More jobs than are searched together, which came one after the other and kept their paths.
TEST(Replan, DecideLeavesAPlanInWhichMoreJobsMeetThanAreSearchedTogether) {
  const Problem problem = Uplinks();
  PresentState present;
  present.previous.emplace();
  for (const auto& paths : Crowded().paths) {
    JobDecision decision;
    decision.level = 0;
    decision.paths = paths;
    present.previous->jobs.push_back(std::move(decision));
  }
  present.departures = true;
  const Solution solution = *Decide(problem, {}, present);
  std::vector<std::int32_t> users(problem.links.size(), 0);
  for (const JobDecision& job : solution.jobs) {
    for (const std::int32_t link : job.paths) ++users[static_cast<std::size_t>(link)];
  }
  EXPECT_THAT(users, Each(::testing::Le(1)));
}

}  // namespace
}  // namespace yardmaster::crux
