#include "pkg/placement/solver/gang_search.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/search_problems.h"

namespace yardmaster::placement {
namespace {

TEST(GangSearchTest, FindsTheLeastCostOfPiecesOfAnySize) {
  Random random(1);
  int found = 0, split = 0, none = 0;
  for (int round = 0; round < Rounds(4000); ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const std::optional<Objective> want = LeastCost(problem);
    const SearchResult got = SearchSegments(problem, {});
    ASSERT_TRUE(got.exact) << round;
    ASSERT_EQ(!got.segment.empty(), want.has_value()) << round;
    none += !want;
    if (!want) continue;
    ASSERT_EQ(got.objective, *want) << round;
    ASSERT_EQ(got.bound, *want) << round;
    ASSERT_EQ(CostOf(problem, got.segment), want) << round;
    ++found;
    split += want->tensor_split_segments + want->data_split_segments > 0;
  }
  EXPECT_GT(found, MoreThan(1000));
  EXPECT_GT(split, MoreThan(100));
  EXPECT_GT(none, MoreThan(300));
}

TEST(GangSearchTest, AGangOfManyPiecesNeedsNoDeepStack) {
  constexpr int kPieces = 60'000;
  SearchProblem problem;
  problem.piece_size.assign(kPieces, 1);
  problem.component.assign(kPieces, 0);
  for (int piece = 0; piece < kPieces; ++piece) problem.pod_set.push_back(piece);
  problem.stages.resize(kPieces);
  problem.groups.resize(1);
  for (int piece = 0; piece < kPieces; ++piece) problem.groups[0].pieces.push_back(piece);
  problem.capacity = {kPieces / 2, kPieces / 2};
  problem.pod_of_segment = {0, 0};
  const SearchResult found = SearchSegments(problem, {});
  ASSERT_EQ(found.segment.size(), std::size_t{kPieces});
  EXPECT_EQ(found.objective.segments, 2);
  EXPECT_EQ(found.objective.data_split_segments, 1);
}

TEST(GangSearchTest, OnlyABetterPlacementThanTheOneAtHandIsAnAnswer) {
  Random random(2);
  for (int round = 0; round < Rounds(1000); ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const std::optional<Objective> best = LeastCost(problem);
    if (!best) continue;
    const SearchResult nothing = SearchSegments(problem, {150'000, best});
    EXPECT_TRUE(nothing.segment.empty()) << round;
    EXPECT_TRUE(nothing.exact) << round;
    EXPECT_EQ(nothing.bound, *best) << round;
    Objective worse = *best;
    ++worse.segments;
    EXPECT_EQ(SearchSegments(problem, {150'000, worse}).objective, *best) << round;
  }
}

TEST(GangSearchTest, AnyPlacementWillDoWhereOneIsAskedForAndOneIsFoundWhereverThereIs) {
  Random random(3);
  int worse = 0;
  for (int round = 0; round < Rounds(1000); ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const SearchResult any = SearchSegments(problem, {150'000, std::nullopt, /*any=*/true});
    ASSERT_EQ(!any.segment.empty(), LeastCost(problem).has_value()) << round;
    if (any.segment.empty()) continue;
    const std::optional<Objective> cost = CostOf(problem, any.segment);
    ASSERT_TRUE(cost.has_value()) << round;
    ASSERT_EQ(any.objective, *cost) << round;
    const Objective best = *LeastCost(problem);
    ASSERT_LE(any.bound, best) << round;
    ASSERT_TRUE(!any.exact || any.objective == best) << round;
    worse += any.objective != best;
  }
  EXPECT_GT(worse, MoreThan(20));
}

TEST(GangSearchTest, ACutSearchNeverClaimsMoreThanItKnows) {
  Random random(4);
  int cut = 0, found = 0;
  for (int round = 0; round < Rounds(3000); ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const std::optional<Objective> best = LeastCost(problem);
    const SearchResult got =
        SearchSegments(problem, {static_cast<std::int64_t>(random.Below(12)), std::nullopt});
    cut += !got.exact;
    if (got.exact) {
      ASSERT_EQ(!got.segment.empty(), best.has_value()) << round;
    }
    if (!got.segment.empty()) {
      ASSERT_EQ(CostOf(problem, got.segment), got.objective) << round;
      found += !got.exact;
      if (got.exact) {
        ASSERT_EQ(got.objective, *best) << round;
      }
    }
    if (best) {
      ASSERT_LE(got.bound, *best) << round;
    }
  }
  EXPECT_GT(cut, MoreThan(100));
  EXPECT_GT(found, MoreThan(20));
}

TEST(GangSearchTest, TheAnswerIsTheSameEveryTime) {
  Random random(5);
  for (int round = 0; round < Rounds(200); ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const SearchResult first = SearchSegments(problem, {});
    const SearchResult second = SearchSegments(problem, {});
    EXPECT_EQ(first.segment, second.segment);
    EXPECT_EQ(first.steps, second.steps);
  }
}

}  // namespace
}  // namespace yardmaster::placement
