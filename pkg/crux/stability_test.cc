// What Decide promises a caller that tells it what holds now: only what changed moves.
#include <algorithm>
#include <gtest/gtest.h>
#include <utility>

#include "pkg/crux/decide.h"
#include "pkg/crux/draft.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/search/schedule_evaluator.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

// A cluster as the caller keeps it.
class Cluster {
 public:
  // Without a search unless told otherwise: what is promised about paths is then exact.
  explicit Cluster(Problem problem, std::int64_t event_budget = 0)
      : problem_(std::move(problem)), event_budget_(event_budget) {
    changed_ = AllJobs(problem_.jobs.size());
    Round(std::nullopt);
  }

  void Arrive(const ContendingJob& job) {
    departures_ = false;
    problem_.jobs.push_back(job);
    Solution previous = solution_;
    previous.jobs.emplace_back();
    previous.jobs.back().level = -1;
    changed_ = {Id(problem_.jobs.size() - 1)};
    Round(std::move(previous));
  }
  ContendingJob Leave(std::size_t at) {
    ContendingJob job = problem_.jobs[at];
    problem_.jobs.erase(problem_.jobs.begin() + Id(at).value);
    Solution previous = solution_;
    previous.jobs.erase(previous.jobs.begin() + Id(at).value);
    changed_.clear();
    departures_ = true;
    Round(std::move(previous));
    return job;
  }
  void Again() {
    changed_.clear();
    departures_ = false;
    Round(solution_);
  }
  void Change(std::size_t at, double bytes_factor) {
    for (Flow& flow : problem_.jobs[at].flows) flow.bytes *= bytes_factor;
    changed_ = {Id(at)};
    departures_ = false;
    Round(solution_);
  }

  const Problem& problem() const { return problem_; }
  const Solution& solution() const { return solution_; }
  std::pair<Paths, std::vector<std::int32_t>> State() const {
    std::vector<std::int32_t> levels;
    for (const JobDecision& job : solution_.jobs) levels.push_back(job.level);
    return {PathsOf(solution_), levels};
  }

 private:
  static ContendingJobId Id(std::size_t at) {
    return ContendingJobId(static_cast<std::int32_t>(at));
  }
  void Round(std::optional<Solution> previous) {
    Options options;
    options.search.event_budget = event_budget_;
    PresentState present;
    present.previous = std::move(previous);
    if (present.previous) present.changed = changed_;
    present.departures = departures_;
    auto solution = Decide(problem_, options, present);
    ASSERT_TRUE(solution.ok()) << MessageOf(solution.status());
    solution_ = *std::move(solution);
  }

  Problem problem_;
  const std::int64_t event_budget_;
  Solution solution_;
  std::vector<ContendingJobId> changed_;
  bool departures_ = false;
};

Problem Crowd(std::uint64_t seed) {
  return testing::RandomProblem({.jobs = 12, .links = 10, .levels = 4, .flows = 3, .candidates = 3},
                                seed);
}

// Levels and paths of the first `count` jobs.
bool SameFirst(const Cluster& a, const std::pair<Paths, std::vector<std::int32_t>>& before,
               std::size_t count) {
  const auto now = a.State();
  return std::equal(before.first.begin(), before.first.begin() + count, now.first.begin()) &&
         std::equal(before.second.begin(), before.second.begin() + count, now.second.begin());
}

TEST(Stability, TheSameInputIsAFixedPoint) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Cluster cluster(Crowd(seed), seed % 2 == 0 ? 0 : 200'000);
    const auto before = cluster.State();
    for (int round = 0; round < 3; ++round) {
      cluster.Again();
      EXPECT_EQ(cluster.State(), before) << seed;
    }
  }
}

TEST(Stability, AnArrivalThatSharesNoLinkChangesNobody) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Problem problem = Crowd(seed);
    problem.links.push_back({"apart", testing::kGbpsOfOneGigabyte});
    const auto apart = static_cast<std::int32_t>(problem.links.size() - 1);
    Cluster cluster(problem);
    const auto before = cluster.State();
    // As heavy as can be: the new reference job.
    cluster.Arrive(testing::OneFlowJob("apart", 1e20, 4096, 1, 0.5, 1000, {apart}));
    EXPECT_TRUE(SameFirst(cluster, before, problem.jobs.size())) << seed;
    EXPECT_EQ(cluster.solution().jobs.back().level, problem.levels - 1);
    cluster.Leave(problem.jobs.size());
    EXPECT_EQ(cluster.State(), before) << seed;
  }
}

TEST(Stability, NobodysPathMovesBecauseOthersComeAndGo) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Cluster cluster(Crowd(seed));
    const ContendingJob job = cluster.Leave(5);
    Paths before = PathsOf(cluster.solution());
    cluster.Arrive(job);
    Paths after = PathsOf(cluster.solution());
    after.pop_back();
    EXPECT_EQ(after, before) << seed;
  }
}

TEST(Stability, ADepartureChangesNothingWithoutASearch) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Cluster cluster(Crowd(seed));
    auto before = cluster.State();
    cluster.Leave(3);
    before.first.erase(before.first.begin() + 3);
    before.second.erase(before.second.begin() + 3);
    EXPECT_EQ(cluster.State(), before) << seed;
  }
}

// A job that comes and goes moves the others when it comes for the first time, if at all.
TEST(Stability, FlappingArrivalsSettle) {
  // Seeds 6, 70, 74 and 131 need other orders with the job than without it.
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Cluster cluster(Crowd(seed));
    const ContendingJob flapping = cluster.Leave(11);
    cluster.Arrive(flapping);
    cluster.Leave(11);
    cluster.Arrive(flapping);
    const auto with = cluster.State();
    for (int round = 0; round < 4; ++round) {
      cluster.Leave(11);
      EXPECT_TRUE(SameFirst(cluster, with, 11)) << seed << ", without it";
      cluster.Arrive(flapping);
      EXPECT_EQ(cluster.State(), with) << seed;
    }
  }
}

TEST(Stability, ASmallChangeOfTrafficMovesNoPath) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Cluster cluster(Crowd(seed));
    cluster.Change(4, 1.02);  // where it now would choose otherwise, it has moved
    const Paths before = PathsOf(cluster.solution());
    for (const double factor : {1.02, 1 / 1.02, 0.98, 1 / 0.98}) {
      cluster.Change(4, factor);
      EXPECT_EQ(PathsOf(cluster.solution()), before) << seed;
    }
  }
}

// Two running jobs fill one link; the other link has just become free.
Solution AfterADeparture(const std::vector<double>& remaining_seconds) {
  Problem problem = testing::WithLinks(2, 2, {});
  for (const char* id : {"a", "b"}) {
    ContendingJob job = testing::OneFlowJob(id, 1e12, 8, 1, 1, 2, {0});
    job.flows[0].paths.Add(std::vector{1});
    problem.jobs.push_back(std::move(job));
  }
  PresentState present;
  present.previous.emplace();
  for (const std::int32_t level : {1, 0}) {
    JobDecision decision;
    decision.level = level;
    decision.paths = {0};
    present.previous->jobs.push_back(std::move(decision));
  }
  present.departures = true;
  present.remaining_seconds = remaining_seconds;
  return *Decide(problem, {}, present);
}

TEST(Stability, AMovePaysForItselfBeforeOneOfTheJobsEndsOrIsNotMade) {
  const auto apart = [](const Solution& solution) {
    return solution.jobs[0].paths != solution.jobs[1].paths;
  };
  EXPECT_TRUE(apart(AfterADeparture({})));
  EXPECT_TRUE(apart(AfterADeparture({60, 1e9})));
  EXPECT_FALSE(apart(AfterADeparture({1e9, 0.5})));
  EXPECT_FALSE(apart(AfterADeparture({0.5, 1e9})));
}

// A job of many flows, the slowest of which decides, beside one that needs all of its link: moving
// one flow gains nothing, moving all of them does.
TEST(Stability, ARunningJobOfManyFlowsMovesAsAWhole) {
  Problem problem = testing::WithLinks(2, 12, {});
  ContendingJob many{"many", 64, 1e13, 1, 1, {}};
  constexpr std::int32_t kFlows = 6;
  for (std::int32_t f = 0; f < kFlows; ++f) {
    Flow flow{"f", 1e9, {}};
    flow.paths.Add(std::vector{f});
    flow.paths.Add(std::vector{kFlows + f});
    many.flows.push_back(std::move(flow));
  }
  ContendingJob other{"other", 64, 2e13, 1, 1, {}};
  for (std::int32_t f = 0; f < kFlows; ++f) {
    Flow flow{"f", 3e9, {}};
    flow.paths.Add(std::vector{f});
    other.flows.push_back(std::move(flow));
  }
  problem.jobs = {many, other};
  PresentState present;
  present.previous.emplace();
  for (const std::int32_t level : {0, 1}) {
    JobDecision decision;
    decision.level = level;
    decision.paths.assign(kFlows, 0);
    present.previous->jobs.push_back(std::move(decision));
  }
  present.departures = true;
  const Solution solution = *Decide(problem, {}, present);
  EXPECT_EQ(solution.jobs[0].paths, std::vector<std::int32_t>(kFlows, 1));
}

double RateOf(const Problem& problem, const Solution& solution) {
  const std::vector<ContendingJobId> all = AllJobs(problem.jobs.size());
  std::vector<std::int32_t> levels;
  for (const JobDecision& job : solution.jobs) levels.push_back(job.level);
  EventBudget budget{1'000'000'000, 0};
  ScheduleEvaluator evaluator(problem, WindowOf(problem, all, 50), budget);
  return evaluator.FlopRate(all, PathsOf(solution), levels);
}

// Many small steps must not add up to a bad plan: after a sequence of replacements the plan is
// worth what one made again is worth.
TEST(Stability, ReplacementsDoNotAddUpToABadPlan) {
  double sum = 0;
  double worst = 1;
  constexpr int kSeeds = 5;
  constexpr std::int64_t kBudget = 200'000;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Cluster cluster(Crowd(seed), kBudget);
    for (std::size_t step = 0; step < 8; ++step) {
      const ContendingJob job = cluster.Leave((seed + 5 * step) % 12);
      cluster.Arrive(job);
      const std::vector<std::int32_t> levels = cluster.State().second;
      for (const ContentionEdge& edge : cluster.solution().edges) {
        EXPECT_LE(levels[edge.to.index()], levels[edge.from.index()]);
      }
    }
    const Cluster fresh(cluster.problem(), kBudget);
    const double ratio =
        RateOf(cluster.problem(), cluster.solution()) / RateOf(cluster.problem(), fresh.solution());
    sum += ratio;
    worst = std::min(worst, ratio);
  }
  EXPECT_GT(sum / kSeeds, 0.97);
  EXPECT_GT(worst, 0.92);
}

// The order of two jobs is that of today's jobs, not of those that ran when they came.
TEST(Stability, PrioritiesAreThoseOfAPlanRecreated) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Cluster cluster(Crowd(seed));
    for (std::size_t step = 0; step < 12; ++step) {
      const ContendingJob job = cluster.Leave((seed + 5 * step) % 12);
      cluster.Arrive(job);
    }
    const Solution& now = cluster.solution();
    const Draft draft(cluster.problem(), PathsOf(now));
    const Priorities fresh = PrioritiesOf(cluster.problem(), draft, {});
    // Where levels allow any order, it is the one of today.
    std::vector<std::int32_t> place(fresh.order.size());
    for (std::size_t i = 0; i < place.size(); ++i) {
      place[fresh.order[i].index()] = static_cast<std::int32_t>(i);
    }
    for (const ContentionEdge& edge : now.edges) {
      if (now.jobs[edge.from.index()].level != now.jobs[edge.to.index()].level) continue;
      EXPECT_LT(place[edge.from.index()], place[edge.to.index()]) << seed;
    }
  }
}

}  // namespace
}  // namespace yardmaster::crux
