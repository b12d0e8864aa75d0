#include "pkg/placement/alike_planner.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"

namespace yardmaster::placement {
namespace {

TEST(AlikePlannerTest, AGangOfEqualWorkersIsPlannedOnceAndAlwaysTheSame) {
  Random random(1);
  for (int round = 0; round < Rounds(300); ++round) {
    const Case c = RandomCase(random, {7, 5, true, true});
    const GangPlan first = PlanAlike(c.cluster, c.request(), {});
    const GangPlan second = PlanGang(c.cluster, c.request());
    ASSERT_EQ(first.outcome, second.outcome) << Describe(c);
    ASSERT_EQ(first.host_of_rank, second.host_of_rank) << Describe(c);
    ASSERT_EQ(first.reasons, second.reasons) << Describe(c);
    ASSERT_EQ(first.relaxations, second.relaxations) << Describe(c);
  }
}

TEST(AlikePlannerTest, EveryWorkerIsTakenForTheLargest) {
  Case c = MakeCase(MakeCluster({{2}}), MakeJob(8, 1, 1, 2, 1));
  c.job.requests = {{"cpu", 90}};
  c.job.roles = {{0, {{"cpu", 90}}, {}}, {1, {{"cpu", 10}}, {}}};
  HostResources& resources = c.cluster.resources;
  resources.names = std::make_shared<const std::vector<std::string>>(1, "cpu");
  resources.free = {90, 10};
  resources.allocatable = std::make_shared<const std::vector<std::int64_t>>(resources.free);
  EXPECT_NE(PlanAlike(c.cluster, c.request(), {}).outcome, Outcome::kPlaced);
  EXPECT_EQ(PlanGang(c.cluster, c.request()).outcome, Outcome::kPlaced);
  resources.free[1] = 90;
  resources.allocatable = std::make_shared<const std::vector<std::int64_t>>(resources.free);
  EXPECT_EQ(PlanAlike(c.cluster, c.request(), {}).outcome, Outcome::kPlaced);
}

TEST(AlikePlannerTest, KeepingTensorGroupsOnHostsCostsTheObjectiveNothing) {
  Random random(2);
  int shared = 0;
  for (int round = 0; round < Rounds(1500); ++round) {
    const Case c = RandomCase(random, {6, 4});
    if (c.job.gpus_per_worker > 4 || c.groups.tensor.empty()) continue;
    const GangPlan plan = PlanAlike(c.cluster, c.request(), {2'000'000, false});
    if (plan.outcome != Outcome::kPlaced) continue;
    ASSERT_EQ(Faults(c, plan.host_of_rank), "") << Describe(c);
    ASSERT_EQ(plan.objective, *BruteForce(c)) << Describe(c);
    const std::vector<int>& group = c.groups.tensor[0].workers;
    shared += plan.host_of_rank[static_cast<std::size_t>(group[0])] ==
              plan.host_of_rank[static_cast<std::size_t>(group[1])];
  }
  EXPECT_GT(shared, MoreThan(20));
}

}  // namespace
}  // namespace yardmaster::placement
