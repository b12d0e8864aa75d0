#include "pkg/placement/solver/search_space.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/search_problems.h"

namespace yardmaster::placement {
namespace {

bool IsPermutation(std::vector<int> values, std::size_t size) {
  std::vector<int> want(size);
  std::iota(want.begin(), want.end(), 0);
  std::sort(values.begin(), values.end());
  return values == want;
}

int WorkersOf(const SearchSpace& space, std::size_t component) {
  int workers = 0;
  for (int i = space.first_piece[component]; i < space.first_piece[component + 1]; ++i) {
    workers += space.problem.piece_size[static_cast<std::size_t>(space.order[i])];
  }
  return workers;
}

TEST(SearchSpaceTest, SegmentsKeepTheirFabricPodAndDescendInIt) {
  Random random(1);
  for (int round = 0; round < Rounds(500); ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const SearchSpace space(problem);
    ASSERT_TRUE(IsPermutation(space.original, problem.capacity.size()));
    for (int s = 0; s < space.num_places(); ++s) {
      EXPECT_EQ(space.capacity[kSegment][s], problem.capacity[space.original[s]]);
      if (s == 0) continue;
      const bool same_pod = space.at[s][kPod] == space.at[s - 1][kPod];
      EXPECT_EQ(same_pod, problem.pod_of_segment[space.original[s]] ==
                              problem.pod_of_segment[space.original[s - 1]]);
      if (same_pod) {
        EXPECT_LE(space.capacity[kSegment][s], space.capacity[kSegment][s - 1]);
      }
    }
    EXPECT_EQ(std::accumulate(space.capacity[kPod].begin(), space.capacity[kPod].end(), 0),
              std::accumulate(problem.capacity.begin(), problem.capacity.end(), 0));
  }
}

TEST(SearchSpaceTest, PiecesStandByComponentLargeOnesFirst) {
  Random random(2);
  for (int round = 0; round < Rounds(500); ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const SearchSpace space(problem);
    ASSERT_TRUE(IsPermutation(space.order, problem.piece_size.size()));
    for (std::size_t c = 0; c + 1 < space.first_piece.size(); ++c) {
      for (int i = space.first_piece[c]; i < space.first_piece[c + 1]; ++i) {
        EXPECT_EQ(space.component[i], static_cast<int>(c));
        EXPECT_EQ(problem.component[space.order[i]],
                  problem.component[space.order[space.first_piece[c]]]);
      }
      if (c > 0) {
        EXPECT_LE(WorkersOf(space, c), WorkersOf(space, c - 1));
      }
    }
    EXPECT_EQ(space.total,
              std::accumulate(problem.piece_size.begin(), problem.piece_size.end(), 0));
  }
}

// Exchanging two twins in any placement gives one of the same cost.
TEST(SearchSpaceTest, TwinsMayBeExchangedInEveryPlacement) {
  Random random(3);
  int twins = 0;
  for (int round = 0; round < Rounds(500); ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const SearchSpace space(problem);
    for (int i = 0; i < space.num_pieces(); ++i) {
      if (space.twin[i] < 0) continue;
      ASSERT_LT(space.twin[i], i);
      ++twins;
      const int one = space.order[i], other = space.order[space.twin[i]];
      ForEachPlacement(problem, [&](std::vector<int> segment, const Objective& cost) {
        std::swap(segment[one], segment[other]);
        EXPECT_EQ(CostOf(problem, segment), cost) << round;
      });
    }
  }
  EXPECT_GT(twins, MoreThan(50));
}

TEST(SearchSpaceTest, EqualComponentsMayBeExchangedInEveryPlacement) {
  Random random(4);
  int equal = 0;
  for (int round = 0; round < Rounds(1000); ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const SearchSpace space(problem);
    for (std::size_t c = 1; c + 1 < space.first_piece.size(); ++c) {
      if (!space.same_as_previous[c]) continue;
      ++equal;
      const int size = space.first_piece[c + 1] - space.first_piece[c];
      ASSERT_EQ(size, space.first_piece[c] - space.first_piece[c - 1]);
      ForEachPlacement(problem, [&](std::vector<int> segment, const Objective& cost) {
        for (int k = 0; k < size; ++k) {
          std::swap(segment[space.order[space.first_piece[c] + k]],
                    segment[space.order[space.first_piece[c - 1] + k]]);
        }
        EXPECT_EQ(CostOf(problem, segment), cost) << round;
      });
    }
  }
  EXPECT_GT(equal, MoreThan(50));
}

TEST(SearchSpaceTest, FabricPodsOfEqualSegmentsAreTwins) {
  SearchProblem problem;
  problem.piece_size = {1};
  problem.component = {0};
  problem.pod_set = {0};
  problem.stages = {{0}};
  problem.capacity = {2, 3, 3, 2, 5, 3};
  problem.pod_of_segment = {0, 0, 1, 1, 2, 2};
  EXPECT_EQ(SearchSpace(problem).place_twin[kPod], (std::vector<int>{-1, 0, -1}));
}

TEST(SearchSpaceTest, DomainsAndSegmentsOfEqualRoomAreTwins) {
  SearchProblem problem;
  problem.piece_size = {1};
  problem.component = problem.pod_set = problem.segment_set = {0};
  problem.stages = {{0}};
  problem.capacity = {1, 2, 2, 2, 1, 2, 0, 3};
  problem.segment_of_domain = {0, 0, 0, 1, 1, 1, 2, 2};
  problem.pod_of_segment = {0, 0, 1};
  const SearchSpace space(problem);
  EXPECT_EQ(space.original, (std::vector<int>{1, 2, 0, 3, 5, 4, 7}));
  EXPECT_EQ(space.place_twin[kDomain], (std::vector<int>{-1, 0, -1, -1, 3, -1, -1}));
  EXPECT_EQ(space.place_twin[kSegment], (std::vector<int>{-1, 0, -1}));
  EXPECT_EQ(space.place_twin[kPod], (std::vector<int>{-1, -1}));
}

}  // namespace
}  // namespace yardmaster::placement
