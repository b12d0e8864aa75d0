#include "pkg/placement/solver/gang_search.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/search_problems.h"

namespace yardmaster::placement {
namespace {

struct Seen {
  int placed = 0;
  int split = 0;
  int none = 0;
};

void ExpectLeastCost(const SearchProblem& problem, Seen& seen) {
  const std::optional<Objective> want = LeastCost(problem);
  const SearchResult got = SearchPlaces(problem, {});
  ASSERT_TRUE(got.exact);
  ASSERT_EQ(!got.place.empty(), want.has_value());
  seen.none += !want;
  if (!want) return;
  ASSERT_EQ(got.objective, *want);
  ASSERT_EQ(got.bound, *want);
  ASSERT_EQ(CostOf(problem, got.place), want);
  ++seen.placed;
  seen.split += want->tensor_split_segments + want->data_split_segments > 0;
}

TEST(GangSearchTest, FindsTheLeastCostOfPiecesOfAnySize) {
  Random random(1);
  Seen seen;
  for (int round = 0; round < Rounds(4000) && !HasFatalFailure(); ++round) {
    SCOPED_TRACE(round);
    ExpectLeastCost(RandomSearchProblem(random), seen);
  }
  EXPECT_GT(seen.placed, MoreThan(1000));
  EXPECT_GT(seen.split, MoreThan(100));
  EXPECT_GT(seen.none, MoreThan(300));
}

TEST(GangSearchTest, FindsTheLeastCostInDomains) {
  Random random(6);
  Seen seen;
  for (int round = 0; round < Rounds(1000) && !HasFatalFailure(); ++round) {
    SCOPED_TRACE(round);
    ExpectLeastCost(RandomDomainProblem(random), seen);
  }
  EXPECT_GT(seen.placed, MoreThan(250));
  EXPECT_GT(seen.split, MoreThan(25));
  EXPECT_GT(seen.none, MoreThan(50));
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
  const SearchResult found = SearchPlaces(problem, {});
  ASSERT_EQ(found.place.size(), std::size_t{kPieces});
  EXPECT_EQ(found.objective.segments, 2);
  EXPECT_EQ(found.objective.data_split_segments, 1);
}

TEST(GangSearchTest, OnlyABetterPlacementThanTheOneAtHandIsAnAnswer) {
  Random random(2);
  for (int round = 0; round < Rounds(1000); ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const std::optional<Objective> best = LeastCost(problem);
    if (!best) continue;
    const SearchResult nothing = SearchPlaces(problem, {150'000, best});
    EXPECT_TRUE(nothing.place.empty()) << round;
    EXPECT_TRUE(nothing.exact) << round;
    EXPECT_EQ(nothing.bound, *best) << round;
    Objective worse = *best;
    ++worse.segments;
    EXPECT_EQ(SearchPlaces(problem, {150'000, worse}).objective, *best) << round;
  }
}

TEST(GangSearchTest, AnyPlacementWillDoWhereOneIsAskedForAndOneIsFoundWhereverThereIs) {
  Random random(3);
  int worse = 0;
  for (int round = 0; round < Rounds(1000); ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const SearchResult any = SearchPlaces(problem, {150'000, std::nullopt, /*any=*/true});
    ASSERT_EQ(!any.place.empty(), LeastCost(problem).has_value()) << round;
    if (any.place.empty()) continue;
    const std::optional<Objective> cost = CostOf(problem, any.place);
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
        SearchPlaces(problem, {static_cast<std::int64_t>(random.Below(12)), std::nullopt});
    cut += !got.exact;
    if (got.exact) {
      ASSERT_EQ(!got.place.empty(), best.has_value()) << round;
    }
    if (!got.place.empty()) {
      ASSERT_EQ(CostOf(problem, got.place), got.objective) << round;
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
    const SearchResult first = SearchPlaces(problem, {});
    const SearchResult second = SearchPlaces(problem, {});
    EXPECT_EQ(first.place, second.place);
    EXPECT_EQ(first.steps, second.steps);
  }
}

}  // namespace
}  // namespace yardmaster::placement
