#include "pkg/crux/path_selection.h"

#include <gtest/gtest.h>

#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

ContendingJob Spread(const std::string& id, double flop, std::int32_t flows,
                     std::int32_t candidates) {
  ContendingJob job{id, 8, flop, 1, 1, {}};
  for (std::int32_t f = 0; f < flows; ++f) {
    Flow flow{"f" + std::to_string(f), 1e9, {}};
    for (std::int32_t c = 0; c < candidates; ++c) flow.paths.Add(std::vector<std::int32_t>{c});
    job.flows.push_back(std::move(flow));
  }
  return job;
}

TEST(PathSelection, TheMostIntenseJobChoosesFirst) {
  Problem problem = testing::WithLinks(2, 3, {Spread("low", 1e9, 1, 2), Spread("high", 9e9, 1, 2)});
  problem.links[0].gbps = 10;  // worth having, but not together
  const Paths paths = SelectPaths(problem);
  EXPECT_EQ(paths[1][0], 0);
  EXPECT_EQ(paths[0][0], 1);
}

TEST(PathSelection, AJobsOwnFlowsSpread) {
  const Problem problem = testing::WithLinks(2, 4, {Spread("a", 1e9, 4, 4)});
  EXPECT_EQ(SelectPaths(problem)[0], (std::vector<std::int32_t>{0, 1, 2, 3}));
}

TEST(PathSelection, AnArrivalLeavesTheOthersWhereTheyAre) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem = testing::RandomProblem({.jobs = 8, .links = 10, .candidates = 4}, seed);
    Paths before = RandomPaths(problem, seed);
    before.back().clear();
    const std::vector<ContendingJobId> changed{ContendingJobId(7)};
    const Paths after = ReselectPaths(problem, before, changed);
    for (std::size_t j = 0; j + 1 < before.size(); ++j) EXPECT_EQ(after[j], before[j]);
    EXPECT_EQ(after.back().size(), problem.jobs.back().flows.size());
  }
}

TEST(PathSelection, ARunningJobStaysUnlessTheGainIsWorthIt) {
  Problem problem = testing::WithLinks(2, 2, {Spread("a", 1e9, 1, 2)});
  const std::vector<ContendingJobId> changed{ContendingJobId(0)};
  problem.links[1].gbps = 8.8;  // a tenth better
  EXPECT_EQ(ReselectPaths(problem, {{0}}, changed, {.hysteresis = 0.2})[0][0], 0);
  EXPECT_EQ(ReselectPaths(problem, {{0}}, changed, {.hysteresis = 0.05})[0][0], 1);
}

// The NIC, which every candidate uses, is the fullest link of the flow, and its uplink is full as
// well. As published, nothing tells the candidates apart; in production the flow leaves the full
// uplink.
TEST(PathSelection, AFullNicDoesNotHideAFullUplink) {
  // Links: 0 the NIC, 1 and 2 the uplinks.
  Problem problem = testing::WithLinks(2, 3, {});
  problem.links[0].gbps = 2;
  ContendingJob own = testing::OneFlowJob("own", 1e12, 8, 1, 1, 1, {0, 1});
  own.flows[0].paths.Add(std::vector<std::int32_t>{0, 2});
  problem.jobs = {own, testing::OneFlowJob("other", 1e12, 8, 1, 1, 0.9, {1})};
  const std::vector<ContendingJobId> changed{ContendingJobId(0)};
  const Paths held = {{0}, {0}};
  EXPECT_EQ(ReselectPaths(problem, held, changed, {.count_common_links = true})[0][0], 0);
  EXPECT_EQ(ReselectPaths(problem, held, changed)[0][0], 1);
}

TEST(PathSelection, ReselectingWithoutAReasonChangesNothing) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem = testing::RandomProblem({.jobs = 6, .links = 8, .candidates = 3}, seed);
    const Paths paths = SelectPaths(problem);
    EXPECT_EQ(ReselectPaths(problem, paths, {}), paths);
  }
}

}  // namespace
}  // namespace yardmaster::crux
