#include "pkg/placement/solver/search_bounds.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/search_problems.h"

namespace yardmaster::placement {
namespace {

TEST(SearchBoundsTest, NoFewerPlacesThanCountedHoldWhatIsNeeded) {
  Random random(1);
  for (int round = 0; round < Rounds(2000); ++round) {
    std::vector<int> capacities(random.Below(6));
    for (int& capacity : capacities) capacity = static_cast<int>(random.Below(5));
    std::sort(capacities.rbegin(), capacities.rend());
    const auto need = static_cast<std::int64_t>(random.Below(14));
    int fewest = static_cast<int>(capacities.size()) + 1;
    for (unsigned set = 0; set < 1u << capacities.size(); ++set) {
      std::int64_t sum = 0;
      int places = 0;
      for (std::size_t i = 0; i < capacities.size(); ++i) {
        if ((set >> i & 1u) == 0) continue;
        sum += capacities[i];
        ++places;
      }
      if (sum >= need) fewest = std::min(fewest, places);
    }
    ASSERT_EQ(PlacesFor(need, capacities), fewest) << "need " << need;
  }
}

bool NoPartIsGreater(const Objective& a, const Objective& b) {
  return a.tensor_split_fabric_pods <= b.tensor_split_fabric_pods &&
         a.data_split_fabric_pods <= b.data_split_fabric_pods &&
         a.tensor_split_segments <= b.tensor_split_segments &&
         a.data_split_segments <= b.data_split_segments && a.fabric_pods <= b.fabric_pods &&
         a.segments <= b.segments;
}

// Of every placement, not only of the best: so that bounds may be combined part by part.
TEST(SearchBoundsTest, NoPlacementIsBelowABoundInAnyPart) {
  Random random(2);
  int placements = 0, above_nothing = 0, tensor = 0;
  for (int round = 0; round < Rounds(2000); ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const SearchSpace space(problem);
    const Objective bound = ComponentBound(space, 0, space.workers_of_group, space.capacity);
    const TensorUnits units(problem);
    Objective units_bound;
    units_bound.tensor_split_segments = units.SplitsIn(space.capacity[kSegment]);
    units_bound.tensor_split_fabric_pods = units.SplitsIn(space.capacity[kPod]);
    bool any = false;
    ForEachPlacement(problem, [&](const std::vector<int>&, const Objective& cost) {
      EXPECT_TRUE(NoPartIsGreater(bound, cost)) << round;
      EXPECT_TRUE(NoPartIsGreater(units_bound, cost)) << round;
      any = true;
    });
    placements += any;
    above_nothing += any && bound != Objective{};
    tensor += any && units_bound != Objective{};
  }
  EXPECT_GT(placements, MoreThan(500));
  EXPECT_GT(above_nothing, MoreThan(50));
  EXPECT_GT(tensor, MoreThan(5));
}

TEST(SearchBoundsTest, NothingLeftCostsNothing) {
  Random random(3);
  for (int round = 0; round < 100; ++round) {
    const SearchProblem problem = RandomSearchProblem(random);
    const SearchSpace space(problem);
    const int components = static_cast<int>(space.first_piece.size()) - 1;
    EXPECT_EQ(ComponentBound(space, components, space.workers_of_group, space.capacity),
              Objective{});
  }
}

TEST(SearchBoundsTest, EqualComponentsThatDoNotFitWholeSplitTheirCheapestGroup) {
  // Two components of two pieces; three segments have room for one piece and a half.
  SearchProblem problem;
  problem.piece_size = {2, 2, 2, 2};
  problem.component = {0, 0, 1, 1};
  problem.pod_set = {0, 1, 2, 3};
  problem.stages.resize(4);
  problem.groups = {{{0, 1}, 5, false}, {{2, 3}, 5, false}};
  problem.capacity = {3, 3, 3};
  problem.pod_of_segment = {0, 0, 0};
  const SearchSpace space(problem);
  const Objective bound = ComponentBound(space, 0, space.workers_of_group, space.capacity);
  EXPECT_EQ(bound.data_split_segments, 10);
  EXPECT_EQ(bound.data_split_fabric_pods, 0);
  // With room for three pieces in one of them one component stays whole.
  problem.capacity = {6, 3, 3};
  const SearchSpace wider(problem);
  EXPECT_EQ(ComponentBound(wider, 0, wider.workers_of_group, wider.capacity).data_split_segments,
            5);
}

TEST(SearchBoundsTest, ObjectivesAreAddedPartByPart) {
  const Objective sum = Objective{1, 2, 3, 4, 5, 6} + Objective{10, 20, 30, 40, 50, 60};
  EXPECT_EQ(sum, (Objective{11, 22, 33, 44, 55, 66}));
}

}  // namespace
}  // namespace yardmaster::placement
