// A draft that followed a cluster through any history is, to the bit, one that has seen nothing
// before.
#include "pkg/crux/incremental_load_cache.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/crux/contention.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ContendingJobId Job(std::size_t j) { return ContendingJobId(static_cast<std::int32_t>(j)); }

const testing::RandomShape kShape{.jobs = 10,
                                  .links = 8,
                                  .flows = 3,
                                  .candidates = 3,
                                  .several_starts = true,
                                  .storage = true,
                                  .spread = true};

IncrementalLoadCache Fresh(const Problem& problem, const Paths& paths) {
  IncrementalLoadCache fresh;
  fresh.Begin(problem);
  fresh.Follow(problem, paths, std::vector<char>(problem.jobs.size(), 0));
  fresh.Refresh();
  return fresh;
}

// All numbers, so that a difference in the last bit is one.
std::vector<double> Numbers(const IncrementalLoadCache& kept) {
  std::vector<double> all(kept.busy());
  for (const JobContention& job : kept.contention()) {
    all.insert(all.end(), {static_cast<double>(job.component),
                           static_cast<double>(job.component_jobs), job.fullest_load});
  }
  const Draft& draft = kept.draft();
  for (std::size_t j = 0; j < draft.loads.size(); ++j) {
    all.insert(all.end(), draft.paths[j].begin(), draft.paths[j].end());
    for (const LinkSeconds& load : draft.loads[j]) {
      all.insert(all.end(), {static_cast<double>(load.link), load.seconds});
    }
    const JobTraffic& traffic = draft.traffic[j];
    all.insert(all.end(), {traffic.bytes, traffic.communication_seconds, traffic.intensity,
                           draft.intensities[j]});
  }
  for (const ContendingPair& pair : draft.pairs) {
    all.insert(all.end(), {static_cast<double>(pair.a.value), static_cast<double>(pair.b.value),
                           pair.a_seconds, pair.b_seconds});
  }
  for (std::size_t l = 0; l < kept.busy().size(); ++l) {
    all.push_back(kept.BusyWith(static_cast<std::int32_t>(l)));
  }
  return all;
}

// Jobs come, go and change one after the other; one IncrementalLoadCache follows.
class History {
 public:
  explicit History(std::uint64_t seed)
      : random_(seed),
        problem_(testing::RandomProblem(kShape, seed)),
        paths_(RandomPaths(problem_, seed)) {}

  void Happen() {
    const std::size_t j = random_.Below(problem_.jobs.size());
    const auto at = static_cast<std::ptrdiff_t>(j);
    switch (random_.Below(7)) {
      case 0: {
        ContendingJob job = testing::RandomProblem(kShape, random_.Next()).jobs[0];
        job.id = StrCat("late", arrivals_++);
        paths_.insert(paths_.begin() + at, std::vector<std::int32_t>(job.flows.size(), 0));
        problem_.jobs.insert(problem_.jobs.begin() + at, std::move(job));
        return;
      }
      case 1:
        if (problem_.jobs.size() < 3) return;
        problem_.jobs.erase(problem_.jobs.begin() + at);
        paths_.erase(paths_.begin() + at);
        return;
      case 2:
        problem_.jobs[j].flows[0].bytes *= 0.5 + random_.Unit();
        return;
      case 3:
        problem_.jobs[j].compute_seconds *= 0.5 + random_.Unit();
        return;
      case 4:
        problem_.links.push_back({StrCat("more", problem_.links.size()), 8});
        return;
      case 5:
        problem_.links[random_.Below(problem_.links.size())].gbps *= 0.5 + random_.Unit();
        return;
      default:
        std::swap(problem_.jobs[j], problem_.jobs[0]);
        std::swap(paths_[j], paths_[0]);
    }
  }

  // Some jobs choose other paths at random.
  void Follow() {
    kept_.Begin(problem_);
    std::vector<char> absent(problem_.jobs.size(), 0);
    std::vector<ContendingJobId> movers;
    Paths before = paths_;
    for (std::size_t j = 0; j < problem_.jobs.size(); ++j) {
      if (random_.Below(5) != 0) continue;
      absent[j] = random_.Below(2) == 0;
      movers.push_back(Job(j));
      for (std::size_t f = 0; f < paths_[j].size(); ++f) {
        const auto count = static_cast<std::uint64_t>(problem_.jobs[j].flows[f].paths.size());
        paths_[j][f] = static_cast<std::int32_t>(random_.Below(count));
      }
    }
    kept_.Follow(problem_, before, absent);
    kept_.Move(problem_, movers, paths_);
    kept_.Refresh();
  }

  void ExpectAsFresh() const {
    ASSERT_EQ(Numbers(kept_), Numbers(Fresh(problem_, paths_)));
    // And what the functions say that know nothing of a cache.
    const Draft draft(problem_, paths_);
    ASSERT_EQ(kept_.draft().paths, draft.paths);
    const auto pair_ids = [](const Draft& of) {
      std::vector<std::pair<ContendingJobId, ContendingJobId>> ids;
      for (const ContendingPair& pair : of.pairs) ids.emplace_back(pair.a, pair.b);
      return ids;
    };
    ASSERT_EQ(pair_ids(kept_.draft()), pair_ids(draft));
    const auto contention = ContentionOf(problem_, draft.loads, draft.pairs);
    for (std::size_t j = 0; j < contention.size(); ++j) {
      EXPECT_DOUBLE_EQ(kept_.draft().intensities[j], draft.intensities[j]);
      EXPECT_EQ(kept_.contention()[j].component, contention[j].component);
      EXPECT_EQ(kept_.contention()[j].component_jobs, contention[j].component_jobs);
      EXPECT_NEAR(kept_.contention()[j].fullest_load, contention[j].fullest_load, 1e-12);
    }
  }

 private:
  Random random_;
  Problem problem_;
  Paths paths_;
  IncrementalLoadCache kept_;
  int arrivals_ = 0;
};

TEST(IncrementalLoadCache, IsAfterAnyHistoryTheDraftOfOneThatHasSeenNothing) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    History history(seed);
    for (int step = 0; step < 40; ++step) {
      history.Follow();
      history.ExpectAsFresh();
      if (::testing::Test::HasFailure()) FAIL() << "seed " << seed << ", step " << step;
      history.Happen();
    }
  }
}

TEST(IncrementalLoadCache, AFlowThatIsSpreadOtherwiseOverTheSameLinksIsCountedAgain) {
  Problem problem = testing::WithLinks(2, 2, {testing::OneFlowJob("a", 8e12, 8, 1, 1, 1, {0, 1})});
  const Paths paths = {{0}};
  IncrementalLoadCache kept = Fresh(problem, paths);
  for (const std::vector<double>& shares :
       {std::vector<double>{0.5, 0.5}, std::vector<double>{0.75, 0.25},
        std::vector<double>{1, 1}}) {
    PathList& spread = problem.jobs[0].flows[0].paths;
    spread = {};
    spread.Add(std::vector{0, 1}, shares);
    kept.Begin(problem);
    kept.Follow(problem, paths, std::vector<char>(1, 0));
    kept.Refresh();
    EXPECT_EQ(Numbers(kept), Numbers(Fresh(problem, paths)));
    EXPECT_DOUBLE_EQ(kept.draft().loads[0][0].seconds, shares[0]);
  }
}

TEST(IncrementalLoadCache, OfNoJobsIsEmpty) {
  const IncrementalLoadCache kept = Fresh(testing::WithLinks(2, 3, {}), {});
  EXPECT_THAT(kept.draft().pairs, IsEmpty());
  EXPECT_THAT(kept.busy(), ElementsAre(0, 0, 0));
}

TEST(IncrementalLoadCache, SaysWhereEachJobStoodBefore) {
  Problem problem = testing::RandomProblem(kShape, 1);
  IncrementalLoadCache kept = Fresh(problem, RandomPaths(problem, 1));
  problem.jobs.erase(problem.jobs.begin() + 1);
  problem.jobs.resize(3);
  problem.jobs.push_back(testing::OneFlowJob("new", 1e12, 8, 1, 1, 1, {0}));
  EXPECT_THAT(kept.Begin(problem), ElementsAre(Job(0), Job(2), Job(3), ContendingJobId()));
}

TEST(IncrementalLoadCache, ForgetsAllWhereJobsChangedPlacesOrALinkItsSpeed) {
  const Problem problem = testing::RandomProblem(kShape, 2);
  const IncrementalLoadCache full = Fresh(problem, RandomPaths(problem, 2));
  Problem turned = problem;
  std::swap(turned.jobs[0], turned.jobs[1]);
  Problem slower = problem;
  slower.links[3].gbps /= 2;
  Problem fewer = problem;
  fewer.links.pop_back();
  for (const Problem& other : {turned, slower, fewer}) {
    IncrementalLoadCache kept = full;
    EXPECT_THAT(kept.Begin(other), Each(ContendingJobId()));
  }
  IncrementalLoadCache kept = full;
  kept.Clear();
  EXPECT_THAT(kept.Begin(problem), Each(ContendingJobId()));
}

TEST(IncrementalLoadCache, AnAbsentJobPutsNothingOnAnyLink) {
  const Problem problem = testing::WithLinks(2, 1,
                                             {testing::OneFlowJob("a", 1e12, 8, 1, 1, 1, {0}),
                                              testing::OneFlowJob("b", 1e12, 8, 3, 1, 1, {0})});
  IncrementalLoadCache kept = Fresh(problem, {{0}, {0}});
  ASSERT_EQ(kept.draft().pairs.size(), 1u);
  EXPECT_THAT(kept.busy(), ElementsAre(0.5 + 0.25));
  kept.Begin(problem);
  kept.Follow(problem, {{}, {0}}, std::vector<char>{1, 0});
  EXPECT_DOUBLE_EQ(kept.BusyWith(0), 0.25) << "even before all is settled";
  kept.Refresh();
  EXPECT_THAT(kept.draft().loads[0], IsEmpty());
  EXPECT_THAT(kept.draft().pairs, IsEmpty());
  EXPECT_THAT(kept.busy(), ElementsAre(0.25));
  EXPECT_EQ(kept.contention()[1].component_jobs, 1);
}

TEST(IncrementalLoadCache, JobsChooseAgainAsIfOnlyTheOthersWereThere) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Problem problem = testing::RandomProblem(kShape, seed);
    const Paths paths = RandomPaths(problem, seed);
    IncrementalLoadCache kept = Fresh(problem, paths);
    const std::vector<ContendingJobId> some = {Job(1), Job(4), Job(7)};
    Paths without = paths;
    for (const ContendingJobId j : some) without[j.index()].clear();
    const Paths expected = ReselectPaths(problem, without, some);
    const Paths chosen = kept.ReselectAsIfNew(problem, some, {});
    for (const ContendingJobId j : AllJobs(problem.jobs.size())) {
      const bool chooses = std::binary_search(some.begin(), some.end(), j);
      EXPECT_EQ(chosen[j.index()], chooses ? expected[j.index()] : std::vector<std::int32_t>{});
    }
    EXPECT_EQ(Numbers(kept), Numbers(Fresh(problem, paths))) << "and nothing moves";
  }
}

}  // namespace
}  // namespace yardmaster::crux
