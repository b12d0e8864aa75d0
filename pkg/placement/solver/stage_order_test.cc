#include "pkg/placement/solver/stage_order.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/objective.h"
#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {
namespace {

// Stage by stage four workers, eight stages, one segment for each.
Case StagedCase() {
  return MakeCase(MakeCluster({{4, 4, 4, 4}, {4, 4, 4, 4}}), MakeJob(8, 1, 1, 4, 8));
}

std::vector<int> StagesIn(const std::vector<int>& segment_of_stage) {
  std::vector<int> segment_of_worker;
  for (int s : segment_of_stage) segment_of_worker.insert(segment_of_worker.end(), 4, s);
  return segment_of_worker;
}

TEST(StageOrderTest, StagesStandAlongTheFabric) {
  const Case c = StagedCase();
  std::vector<int> segments = StagesIn({5, 2, 7, 0, 1, 6, 3, 4});
  OrderStages(ModelOf(c.job, c.groups), segments);
  EXPECT_EQ(segments, StagesIn({0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(StageOrderTest, TheObjectiveAndTheLoadOfEverySegmentStayAsTheyAre) {
  Random random(1);
  int moved = 0;
  for (int round = 0; round < Rounds(500); ++round) {
    const int data = 1 + static_cast<int>(random.Below(4));
    const int stages = 1 + static_cast<int>(random.Below(5));
    const Case c = MakeCase(MakeCluster({{4, 4}, {4, 4}}),
                            MakeJob(random.Below(2) == 0 ? 8 : 16, 1, 1, data, stages));
    const GangModel model = ModelOf(c.job, c.groups);
    std::vector<int> unit_segment(model.units.size.size());
    for (int& s : unit_segment) s = static_cast<int>(random.Below(4));
    std::vector<int> before;
    for (int unit : model.units.of) before.push_back(unit_segment[static_cast<std::size_t>(unit)]);
    std::vector<int> after = before;
    OrderStages(model, after);
    EXPECT_EQ(EvaluateSegments(*c.cluster.places, c.groups, after),
              EvaluateSegments(*c.cluster.places, c.groups, before))
        << Describe(c);
    EXPECT_TRUE(std::is_permutation(after.begin(), after.end(), before.begin()));
    moved += after != before;
    std::vector<int> again = after;
    OrderStages(model, again);
    EXPECT_EQ(again, after) << "ordered already";
  }
  EXPECT_GT(moved, MoreThan(200));
}

TEST(StageOrderTest, WhereComponentsMayNotChangePlacesNothingMoves) {
  const Case c = StagedCase();
  const GangModel model = ModelOf(c.job, c.groups);
  const std::vector<int> before = StagesIn({5, 2, 7, 0, 1, 6, 3, 4});
  std::vector<GangModel> others(3, model);
  others[0].uniform = false;
  others[1].pod_rule = PodRule::kOther;
  others[2].max_stages_per_segment = 2;
  others[2].stages_per_component = 2;
  for (const GangModel& other : others) {
    std::vector<int> segments = before;
    OrderStages(other, segments);
    EXPECT_EQ(segments, before);
  }
}

TEST(StageOrderTest, WhereAUnitIsSplitNothingMoves) {
  const Case c = MakeCase(MakeCluster({{4, 4, 4}}), MakeJob(16, 1, 1, 1, 2));
  std::vector<int> segments = {2, 1, 0, 0};  // the first tensor group lies in two segments
  OrderStages(ModelOf(c.job, c.groups), segments);
  EXPECT_EQ(segments, (std::vector<int>{2, 1, 0, 0}));
}

}  // namespace
}  // namespace yardmaster::placement
