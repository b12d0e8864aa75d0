#include "pkg/placement/solver/gang_solver.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"

namespace yardmaster::placement {
namespace {

struct Setting {
  explicit Setting(const Case& of)
      : c(of),
        model(ModelOf(c.job, c.groups)),
        capacity(CapacityFor(c.cluster, c.request(), model.host_set_size)),
        scores(ScoreSegments(c.cluster, capacity)) {}

  Fit TryToFit(std::int64_t max_steps) const {
    return placement::TryToFit(*c.cluster.places, model, c.groups, capacity, max_steps);
  }
  SegmentPlan Choose(std::int64_t max_steps, bool any) const {
    return ChooseSegments({*c.cluster.places, model, c.groups, scores}, capacity, max_steps, any);
  }

  const Case& c;
  GangModel model;
  Capacity capacity;
  std::vector<SegmentScore> scores;
};

Case AnyCase(Random& random, int round) {
  return round % 2 == 0 ? WideCase(random) : RandomCase(random, {7, 5, true});
}

TEST(GangSolverTest, WithStepsEnoughItIsKnownWhetherAGangFits) {
  Random random(1);
  int yes = 0, no = 0;
  for (int round = 0; round < Rounds(1000); ++round) {
    const Case c = AnyCase(random, round);
    const Fit fit = Setting(c).TryToFit(2'000'000);
    ASSERT_EQ(fit, FindBetter(c, std::nullopt) ? Fit::kYes : Fit::kNo) << Describe(c);
    ++(fit == Fit::kYes ? yes : no);
  }
  EXPECT_GT(yes, MoreThan(200));
  EXPECT_GT(no, MoreThan(200));
}

TEST(GangSolverTest, HoweverFewTheStepsNoWrongAnswerIsGiven) {
  Random random(2);
  for (int round = 0; round < Rounds(1000); ++round) {
    const Case c = AnyCase(random, round);
    const Fit fit = Setting(c).TryToFit(static_cast<std::int64_t>(random.Below(20)));
    if (fit == Fit::kUnknown) continue;
    ASSERT_EQ(fit == Fit::kYes, FindBetter(c, std::nullopt).has_value()) << Describe(c);
  }
}

TEST(GangSolverTest, APlanSaysWhatItsSegmentsCostAndNoneIsBelowItsBound) {
  Random random(3);
  int found = 0, cut = 0;
  for (int round = 0; round < Rounds(1000); ++round) {
    const Case c = round % 3 == 0 ? IrregularCase(random) : AnyCase(random, round);
    const Setting setting(c);
    const auto max_steps = static_cast<std::int64_t>(random.Below(2000));
    const SegmentPlan plan = setting.Choose(max_steps, random.Below(4) == 0);
    if (!plan.found) continue;
    ++found;
    cut += !plan.exact;
    ASSERT_EQ(EvaluateSegments(*c.cluster.places, c.groups, plan.segment_of_worker), plan.objective)
        << Describe(c);
    ASSERT_LE(plan.bound, plan.objective) << Describe(c);
    if (plan.exact) {
      ASSERT_EQ(plan.bound, plan.objective) << Describe(c);
    }
    std::vector<std::int32_t> room = setting.capacity.of_segment;
    for (int s : plan.segment_of_worker) {
      ASSERT_GE(--room[static_cast<std::size_t>(s)], 0) << Describe(c);
    }
  }
  EXPECT_GT(found, MoreThan(300));
  EXPECT_GT(cut, MoreThan(10));
}

TEST(GangSolverTest, AGangForOneFabricPodTakesTheOneWhereItIsBest) {
  // The first pod has room in three segments, the second in two, the third for half of the gang.
  Case c = MakeCase(MakeCluster({{2, 2, 2}, {3, 3}, {3}}), MakeJob(8, 1, 1, 2, 3));
  c.job.placement.data = {workload::TopologyLevel::kFabricPod, workload::Enforcement::kRequired};
  c.job.placement.pipeline = c.job.placement.data;
  // A stage of two workers fits three times into the first pod, and only twice, whole, into the
  // second.
  const SegmentPlan plan = Setting(c).Choose(150'000, false);
  ASSERT_TRUE(plan.found && plan.exact);
  EXPECT_EQ(plan.objective, (Objective{0, 0, 0, 0, 1, 3}));
  for (int s : plan.segment_of_worker) EXPECT_LE(s, 2);
}

}  // namespace
}  // namespace yardmaster::placement
