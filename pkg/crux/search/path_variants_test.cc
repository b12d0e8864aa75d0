#include "pkg/crux/search/path_variants.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

using ::testing::Contains;
using ::testing::SizeIs;

using PathChoice = std::vector<std::int32_t>;

constexpr std::size_t kMaxVariants = 16;

// Flows of two candidates each, on links of their own.
Problem WithFlows(std::int32_t flows) {
  Problem problem = testing::WithLinks(2, 2 * flows, {});
  ContendingJob job{"a", 8, 1e12, 1, 1, {}};
  for (std::int32_t f = 0; f < flows; ++f) {
    job.flows.push_back({"f" + std::to_string(f), 1e8, {{2 * f}, {2 * f + 1}}});
  }
  problem.jobs.push_back(std::move(job));
  return problem;
}

std::vector<PathChoice> ChoicesWith(std::int32_t flows, const PathChoice& now,
                                    const std::vector<PathChoice>& also) {
  const Problem problem = WithFlows(flows);
  std::vector<PathChoice> choices;
  for (const PathVariant& variant :
       VariantsOf(problem, problem.jobs[0], now, 25, kMaxVariants, also)) {
    choices.push_back(variant.paths);
  }
  EXPECT_EQ(choices.front(), now);
  EXPECT_THAT(std::set<PathChoice>(choices.begin(), choices.end()), SizeIs(choices.size()));
  return choices;
}

TEST(PathVariants, AllCombinationsThatFitAreTried) {
  EXPECT_THAT(ChoicesWith(4, {0, 1, 0, 1}, {}), SizeIs(16));
}

// 32 combinations: a job can still choose again as a whole.
TEST(PathVariants, PathsChosenAgainAreTriedWhereNotAllCombinationsFit) {
  const PathChoice fresh(5, 1);
  const PathChoice alone = {1, 0, 1, 1, 1};
  const std::vector<PathChoice> choices = ChoicesWith(5, PathChoice(5, 0), {alone, fresh});
  EXPECT_THAT(choices, SizeIs(kMaxVariants));
  EXPECT_THAT(choices, Contains(fresh));
  EXPECT_THAT(choices, Contains(alone));
}

TEST(PathVariants, OfManyCombinationsThosePathsAndSingleMovesAreTried) {
  const PathChoice now(8, 0);
  const PathChoice fresh(8, 1);
  PathChoice moved = now;
  moved[3] = 1;
  const std::vector<PathChoice> choices = ChoicesWith(8, now, {fresh, moved, now});
  EXPECT_THAT(choices, SizeIs(1 + 1 + 8));
  EXPECT_THAT(choices, Contains(fresh));
  EXPECT_THAT(choices, Contains(moved));
}

}  // namespace
}  // namespace yardmaster::crux
