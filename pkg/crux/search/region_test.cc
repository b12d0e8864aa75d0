#include "pkg/crux/search/region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

using ::testing::ElementsAre;

// One flow over any of six links, on the first; links with higher numbers are busier.
class CutRegionTest : public ::testing::Test {
 protected:
  CutRegionTest() {
    ContendingJob job = testing::OneFlowJob("a", 1e12, 8, 1, 1, 1, {0});
    for (std::int32_t link = 1; link < 6; ++link) job.flows[0].paths.Add(std::vector{link});
    problem_ = testing::WithLinks(2, 6, {job});
  }
  std::vector<std::int32_t> CandidatesWith(const Paths& fresh) const {
    const Draft draft(problem_, {{0}});
    const std::vector<double> busy = {0.9, 0.1, 0.2, 0.3, 0.4, 0.5};
    return CutRegion(problem_, draft, {0}, busy, AllJobs(1), 4, fresh).candidates[0][0];
  }

  Problem problem_;
};

TEST_F(CutRegionTest, TriesTheLeastBusyCandidatesBesideTheFlowsPath) {
  EXPECT_THAT(CandidatesWith({}), ElementsAre(0, 1, 2, 3));
}

TEST_F(CutRegionTest, TriesTheFreshPathHoweverBusyItIs) {
  EXPECT_THAT(CandidatesWith({{5}}), ElementsAre(0, 5, 1, 2));
  EXPECT_THAT(CandidatesWith({{0}}), ElementsAre(0, 1, 2, 3));
}

// The seed shares most with b, then with c and d.
TEST(Neighbourhood, LeavesOutAJobWhoseFlowsDoNotFitAndTakesTheNext) {
  const auto shares = [](const char* id, double seconds, std::size_t flows) {
    ContendingJob job = testing::OneFlowJob(id, 1e12, 8, 1, 1, seconds, {0});
    while (job.flows.size() < flows) job.flows.push_back({"other", 1, {{1}}});
    return job;
  };
  const Problem problem = testing::WithLinks(
      2, 3, {shares("seed", 1, 1), shares("b", 3, 9), shares("c", 2, 2), shares("d", 1, 2)});
  Paths paths;
  for (const ContendingJob& job : problem.jobs) paths.emplace_back(job.flows.size(), 0);
  const Draft draft(problem, paths);
  const auto pairs_of = Neighbours(4, draft.pairs);
  const auto with = [&](std::size_t jobs, std::size_t flows) {
    return Neighbourhood(problem, ContendingJobId(0), draft, pairs_of, {jobs, flows});
  };
  EXPECT_THAT(with(12, 100), ElementsAre(ContendingJobId(0), ContendingJobId(1), ContendingJobId(2),
                                         ContendingJobId(3)));
  EXPECT_THAT(with(2, 100), ElementsAre(ContendingJobId(0), ContendingJobId(1)));
  EXPECT_THAT(with(12, 5), ElementsAre(ContendingJobId(0), ContendingJobId(2), ContendingJobId(3)));
}

TEST(Neighbourhood, LeavesOutAJobThatCannotBeSimulatedWithTheOthers) {
  const Problem problem = testing::WithLinks(
      2, 1,
      {testing::ManyStartsJob("seed", 40, {0}), testing::ManyStartsJob("b", 40, {0}),
       testing::ManyStartsJob("c", 24, {0})});
  const Draft draft(problem, {std::vector<std::int32_t>(40, 0), std::vector<std::int32_t>(40, 0),
                              std::vector<std::int32_t>(24, 0)});
  const auto pairs_of = Neighbours(3, draft.pairs);
  EXPECT_THAT(Neighbourhood(problem, ContendingJobId(0), draft, pairs_of, {12, 2048}),
              ElementsAre(ContendingJobId(0), ContendingJobId(2)));
}

}  // namespace
}  // namespace yardmaster::crux
