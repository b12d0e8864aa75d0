// What Decide promises a caller that tells it what holds now: only what changed moves.
#include <algorithm>
#include <gtest/gtest.h>
#include <utility>

#include "pkg/crux/decide.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

// A cluster as the caller keeps it.
class Cluster {
 public:
  explicit Cluster(Problem problem) : problem_(std::move(problem)) {
    for (std::size_t j = 0; j < problem_.jobs.size(); ++j) changed_.push_back(Index(j));
    Round(std::nullopt);
  }

  void Arrive(const Job& job) {
    problem_.jobs.push_back(job);
    Solution previous = solution_;
    previous.jobs.emplace_back();
    previous.jobs.back().level = -1;
    changed_ = {Index(problem_.jobs.size() - 1)};
    Round(std::move(previous));
  }
  Job Leave(std::size_t at) {
    Job job = problem_.jobs[at];
    problem_.jobs.erase(problem_.jobs.begin() + Index(at));
    Solution previous = solution_;
    previous.jobs.erase(previous.jobs.begin() + Index(at));
    changed_.clear();
    Round(std::move(previous));
    return job;
  }
  void Again() {
    changed_.clear();
    Round(solution_);
  }
  void Change(std::size_t at, double bytes_factor) {
    for (Flow& flow : problem_.jobs[at].flows) flow.bytes *= bytes_factor;
    changed_ = {Index(at)};
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
  static std::int32_t Index(std::size_t at) { return static_cast<std::int32_t>(at); }
  void Round(std::optional<Solution> previous) {
    Options options;
    options.previous = std::move(previous);
    if (options.previous) options.changed = changed_;
    auto solution = Decide(problem_, Policy::kCrux, options);
    ASSERT_TRUE(solution.ok()) << MessageOf(solution.status());
    solution_ = *std::move(solution);
  }

  Problem problem_;
  Solution solution_;
  std::vector<std::int32_t> changed_;
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
    Cluster cluster(Crowd(seed));
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
    const Job job = cluster.Leave(5);
    Paths before = PathsOf(cluster.solution());
    cluster.Arrive(job);
    Paths after = PathsOf(cluster.solution());
    after.pop_back();
    EXPECT_EQ(after, before) << seed;
  }
}

TEST(Stability, ADepartureChangesALevelOnlyForAClearGain) {
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Cluster cluster(Crowd(seed));
    auto before = cluster.State();
    cluster.Leave(3);
    before.first.erase(before.first.begin() + 3);
    before.second.erase(before.second.begin() + 3);
    if (cluster.State() == before) continue;
    ++changed;
    // What it would have lost to stay.
    const double stayed = [&] {
      double loss = 0;
      for (const ContentionEdge& edge : cluster.solution().edges) {
        if (before.second[edge.from] == before.second[edge.to]) loss += edge.weight;
      }
      return loss;
    }();
    EXPECT_GT(stayed, cluster.solution().loss * (1 + 1e-9)) << seed;
  }
  EXPECT_LT(changed, 20);
}

TEST(Stability, FlappingArrivalsDoNotSwing) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Cluster cluster(Crowd(seed));
    const Job flapping = cluster.Leave(11);
    std::vector<std::pair<Paths, std::vector<std::int32_t>>> with;
    for (int round = 0; round < 6; ++round) {
      cluster.Arrive(flapping);
      with.push_back(cluster.State());
      cluster.Leave(11);
      // The jobs that stay stand as they did while it was there, from the second round on.
      if (round > 0) {
        EXPECT_EQ(with[round], with[1]) << seed;
        EXPECT_TRUE(SameFirst(cluster, with[1], 11)) << seed;
      }
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

TEST(Stability, LevelsStayValidWhateverHappened) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Cluster cluster(Crowd(seed));
    for (std::size_t step = 0; step < 30; ++step) {
      const Job job = cluster.Leave((seed + 5 * step) % 12);
      cluster.Arrive(job);
      std::vector<std::int32_t> levels = cluster.State().second;
      for (const ContentionEdge& edge : cluster.solution().edges) {
        EXPECT_LE(levels[edge.to], levels[edge.from]);
      }
    }
    // Many small steps do not add up to a bad plan.
    Cluster anew(cluster.problem());
    double weight = 1;
    for (const ContentionEdge& edge : cluster.solution().edges) weight += edge.weight;
    const double optimal = cluster.solution().optimal_loss.value_or(cluster.solution().loss);
    EXPECT_LE(cluster.solution().loss, optimal + 0.05 * weight);
  }
}

}  // namespace
}  // namespace yardmaster::crux
