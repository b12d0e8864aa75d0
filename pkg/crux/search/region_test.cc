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
    Job job = testing::OneFlowJob("a", 1e12, 8, 1, 1, 1, {0});
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

}  // namespace
}  // namespace yardmaster::crux
