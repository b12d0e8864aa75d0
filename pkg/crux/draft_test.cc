#include "pkg/crux/draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/testing/problems.h"
#include "pkg/crux/testing/valid_compression.h"

namespace yardmaster::crux {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Problem Crowded(std::uint64_t seed) {
  return testing::RandomProblem(
      {.jobs = 8, .links = 6, .levels = 4, .flows = 3, .candidates = 2, .several_starts = true},
      seed);
}

TEST(Draft, OfNoJobsIsEmpty) {
  const Problem problem = testing::WithLinks(2, 1, {});
  const Draft draft(problem, {});
  EXPECT_THAT(draft.pairs, IsEmpty());
  const Priorities priorities = PrioritiesOf(problem, draft, {});
  EXPECT_THAT(priorities.order, IsEmpty());
  const Solution solution = ToSolution(problem, PlanWithLevels(draft, priorities, {}), {0, 1});
  EXPECT_THAT(solution.jobs, IsEmpty());
  EXPECT_EQ(solution.loss, 0);
}

TEST(Draft, OnlyTheJobsWhosePathsMeetContend) {
  Problem problem = testing::WithLinks(2, 2,
                                       {testing::OneFlowJob("a", 1e12, 8, 1, 1, 1, {0}),
                                        testing::OneFlowJob("b", 1e12, 8, 1, 1, 2, {0})});
  problem.jobs[1].flows[0].paths.Add(std::vector<std::int32_t>{1});
  EXPECT_THAT(Draft(problem, {{0}, {1}}).pairs, IsEmpty());
  const Draft together(problem, {{0}, {0}});
  ASSERT_EQ(together.pairs.size(), 1u);
  EXPECT_EQ(together.pairs[0].a_seconds, 1);
  EXPECT_EQ(together.pairs[0].b_seconds, 2);
  EXPECT_THAT(together.intensities, ElementsAre(1e12, 0.5e12));
}

TEST(PlanWithLevels, PrioritiesAndEdgesAgreeWithAnyLevels) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Problem problem = Crowded(seed);
    const Draft draft(problem, RandomPaths(problem, seed));
    Random random(seed);
    std::vector<std::int32_t> levels;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
      levels.push_back(static_cast<std::int32_t>(random.Below(4)));
    }
    const LevelledDraft plan = PlanWithLevels(draft, PrioritiesOf(problem, draft, {}), levels);
    EXPECT_EQ(plan.levels, levels);
    EXPECT_EQ(plan.edges.size(), draft.pairs.size());
    EXPECT_TRUE(IsValidCompression(plan.edges, levels));
    for (const ContentionEdge& edge : plan.edges) {
      EXPECT_GE(plan.priorities.priority[edge.from.index()],
                plan.priorities.priority[edge.to.index()]);
    }
    for (std::size_t j = 0; j < levels.size(); ++j) {
      EXPECT_NEAR(plan.priorities.priority[j], plan.priorities.correction[j] * draft.intensities[j],
                  1e-9 * plan.priorities.priority[j]);
    }
  }
}

TEST(PlanWithLevels, LevelsThatFollowThePrioritiesChangeNone) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Problem problem = Crowded(seed);
    const Draft draft(problem, RandomPaths(problem, seed));
    const Priorities wanted = PrioritiesOf(problem, draft, {});
    std::vector<std::int32_t> levels(problem.jobs.size());
    for (std::size_t rank = 0; rank < levels.size(); ++rank) {
      levels[wanted.order[rank].index()] = 3 - static_cast<std::int32_t>(rank / 2);
    }
    const LevelledDraft plan = PlanWithLevels(draft, wanted, levels);
    EXPECT_EQ(plan.priorities.order, wanted.order);
    EXPECT_EQ(plan.priorities.priority, wanted.priority);
    EXPECT_EQ(plan.priorities.correction, wanted.correction);
  }
}

// A job that sends, one that sends in the background and one that sends nothing, on one link.
class ToSolutionTest : public ::testing::Test {
 protected:
  ToSolutionTest() {
    for (const char* id : {"sends", "stores", "computes", "also sends"}) {
      problem_.jobs.push_back(testing::OneFlowJob(id, 1e12, 8, 1, 1, 1, {0}));
    }
    problem_.jobs[1].flows[0].background = true;
    problem_.jobs[2].flows.clear();
  }
  Problem problem_ = testing::WithLinks(8, 1, {});
};

TEST_F(ToSolutionTest, LevelsAreIndicesIntoTheUsableOnes) {
  const Draft draft(problem_, {{0}, {0}, {}, {0}});
  const LevelledDraft plan = PlanWithLevels(draft, PrioritiesOf(problem_, draft, {}), {2, 1, 1, 0});
  const Solution solution = ToSolution(problem_, plan, {1, 4, 6});
  EXPECT_EQ(solution.jobs[0].level, 6);
  EXPECT_EQ(solution.jobs[3].level, 1);
  EXPECT_EQ(solution.loss, 0);
  EXPECT_FALSE(solution.optimal_loss.has_value());
  EXPECT_EQ(PathsOf(solution), draft.paths);
}

TEST_F(ToSolutionTest, AJobThatNoIterationWaitsForGetsTheLowestUsableLevel) {
  const Draft draft(problem_, {{0}, {0}, {}, {0}});
  const LevelledDraft plan = PlanWithLevels(draft, PrioritiesOf(problem_, draft, {}), {1, 2, 2, 1});
  const Solution solution = ToSolution(problem_, plan, {1, 4, 6});
  EXPECT_EQ(solution.jobs[1].level, 1);
  EXPECT_EQ(solution.jobs[2].level, 1);
  EXPECT_EQ(solution.jobs[1].intensity, 0);
  EXPECT_EQ(solution.loss, 1e12) << "the two that send share a level";
}

}  // namespace
}  // namespace yardmaster::crux
