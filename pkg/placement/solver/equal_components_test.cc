#include "pkg/placement/solver/equal_components.h"

#include <gtest/gtest.h>

#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {
namespace {

using workload::Enforcement;
using workload::TopologyLevel;

Capacity RoomIn(const std::vector<int>& of_segment) {
  Capacity capacity;
  capacity.of_segment.assign(of_segment.begin(), of_segment.end());
  return capacity;
}

// Three stages of four workers on three segments.
struct Staged {
  explicit Staged(int max_stages = 0)
      : c(MakeCase(MakeCluster({{9, 9, 9}}), MakeJob(8, 1, 1, 4, 3))) {
    c.job.placement.max_stages_per_segment = max_stages;
    model = ModelOf(c.job, c.groups);
  }
  SegmentProblem problem() const { return {*c.cluster.places, model, c.groups, scores}; }

  Case c;
  GangModel model;
  std::vector<SegmentScore> scores = std::vector<SegmentScore>(3);
};

TEST(EqualComponentsTest, WholeComponentsInTheFewestSegmentsAreTheBest) {
  const Staged staged;
  const auto plan = KeepComponentsWhole(staged.problem(), RoomIn({4, 8, 0}));
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->found && plan->exact);
  EXPECT_EQ(plan->objective, (Objective{0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(plan->bound, plan->objective);
  const auto roomy = KeepComponentsWhole(staged.problem(), RoomIn({4, 8, 12}));
  EXPECT_EQ(roomy->segment_of_worker, std::vector<int>(12, 2));
}

TEST(EqualComponentsTest, RoomThatNoWholeComponentFillsDoesNotCount) {
  const Staged staged;
  EXPECT_FALSE(KeepComponentsWhole(staged.problem(), RoomIn({7, 7, 3})).has_value());
  EXPECT_TRUE(KeepComponentsWhole(staged.problem(), RoomIn({7, 8, 3})).has_value());
}

TEST(EqualComponentsTest, ALimitOfStagesIsALimitOfComponents) {
  const Staged one(1), two(2);
  EXPECT_FALSE(KeepComponentsWhole(one.problem(), RoomIn({12, 12, 0})).has_value());
  EXPECT_TRUE(KeepComponentsWhole(two.problem(), RoomIn({12, 12, 0})).has_value());
  EXPECT_EQ(KeepComponentsWhole(one.problem(), RoomIn({12, 12, 12}))->objective.segments, 3);
}

TEST(EqualComponentsTest, TheLimitIsDroppedWhereSegmentsAreTooSmallToReachIt) {
  // A segment with room for four workers takes part in three stages at most: 1, and 2 at its ends.
  EXPECT_EQ(ComponentsPerSegment(Staged().model, RoomIn({12, 12, 12})), std::optional<int>(0));
  EXPECT_EQ(ComponentsPerSegment(Staged(3).model, RoomIn({4, 4, 4})), std::optional<int>(0));
  EXPECT_EQ(ComponentsPerSegment(Staged(2).model, RoomIn({4, 4, 4})), std::optional<int>(2));
  GangModel wide = Staged(2).model;
  wide.stages_per_component = 3;
  EXPECT_FALSE(ComponentsPerSegment(wide, RoomIn({4, 4, 4})).has_value()) << "not even one";
}

TEST(EqualComponentsTest, AComponentThatIsSplitCostsItsDataGroups) {
  const Staged staged;
  const SegmentPlan plan = SplitComponents(staged.problem(), RoomIn({6, 6, 0}), PodRule::kComponent,
                                           staged.model.units, 0);
  ASSERT_TRUE(plan.found);
  EXPECT_TRUE(plan.exact);
  // Eight data groups of a stage, one for each GPU of a host, are split once.
  EXPECT_EQ(plan.objective, (Objective{0, 0, 0, 8, 1, 2}));
  std::vector<int> room = {6, 6, 0};
  for (int s : plan.segment_of_worker) EXPECT_GE(--room[static_cast<std::size_t>(s)], 0);
}

TEST(EqualComponentsTest, TooLittleRoomIsProvedWhereThePiecesAreTheFinest) {
  const Staged staged;
  const SegmentPlan plan = SplitComponents(staged.problem(), RoomIn({6, 5, 0}), PodRule::kComponent,
                                           staged.model.units, 0);
  EXPECT_FALSE(plan.found);
  EXPECT_TRUE(plan.exact);
}

}  // namespace
}  // namespace yardmaster::placement
