#include "pkg/crux/search/seed_levels.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "pkg/crux/contention.h"
#include "pkg/crux/draft.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/testing/problems.h"
#include "pkg/crux/testing/valid_compression.h"

namespace yardmaster::crux {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Lt;

Problem Crowded(std::int32_t jobs, std::uint64_t seed) {
  return testing::RandomProblem({.jobs = jobs, .links = 4, .flows = 2, .candidates = 2}, seed);
}

std::vector<ContentionEdge> EdgesOf(const Problem& problem, const Paths& paths) {
  const Draft draft(problem, paths);
  return ContentionDag(draft.pairs, PrioritiesOf(problem, draft, {}).order, draft.intensities);
}

TEST(SeedLevels, NoJobsHaveNone) {
  EXPECT_THAT(SeedLevels(testing::WithLinks(2, 1, {}), {}, {}, 3), IsEmpty());
}

TEST(SeedLevels, NeverLiftAJobAboveOneOfHigherPriorityOnItsLinks) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Problem problem = Crowded(2 + static_cast<std::int32_t>(seed % 12), seed);
    const Paths paths = RandomPaths(problem, seed);
    for (std::int32_t levels = 1; levels <= 4; ++levels) {
      const auto seeds = SeedLevels(problem, paths, {}, levels);
      ASSERT_EQ(seeds.size(), problem.jobs.size());
      EXPECT_THAT(seeds, Each(AllOf(Ge(0), Lt(levels))));
      EXPECT_TRUE(IsValidCompression(EdgesOf(problem, paths), seeds));
    }
  }
}

TEST(SeedLevels, AmongSixJobsNoLevelsThatFollowThePrioritiesLoseLess) {
  constexpr std::int32_t kLevels = 3;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem = Crowded(6, seed);
    const Paths paths = RandomPaths(problem, seed);
    const auto edges = EdgesOf(problem, paths);
    double best = 1e300;
    std::vector<std::int32_t> levels(problem.jobs.size(), 0);
    for (std::size_t i = 0; i < levels.size();) {
      if (i == 0 && IsValidCompression(edges, levels)) best = std::min(best, Loss(edges, levels));
      if (++levels[i] < kLevels) {
        i = 0;
      } else {
        levels[i++] = 0;
      }
    }
    const double loss = Loss(edges, SeedLevels(problem, paths, {}, kLevels));
    EXPECT_NEAR(loss, best, 1e-9 * (1 + best));
  }
}

}  // namespace
}  // namespace yardmaster::crux
