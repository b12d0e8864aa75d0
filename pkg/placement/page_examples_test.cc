// The examples of docs/placement.md, as they stand there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/placement/gang_planner.h"
#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using workload::Enforcement;
using workload::TopologyLevel;

std::vector<HostId> Hosts(std::initializer_list<std::pair<int, int>> ranges) {
  std::vector<HostId> hosts;
  for (const auto& [first, count] : ranges) {
    for (int i = 0; i < count; ++i) hosts.push_back(HostId(first + i));
  }
  return hosts;
}

TEST(PlacementPageTest, APipelineBoundaryIsWhereAJobIsCut) {
  const Case c = MakeCase(MakeCluster({{8, 8}}), MakeJob(8, 1, 1, 8, 2));
  EXPECT_EQ(PlanGang(c.cluster, c.request()).objective, (Objective{0, 0, 0, 0, 1, 2}));
  // Ranks 0..7 are stage 0: five of it and three of stage 1 in the first segment.
  const auto bad = Hosts({{0, 5}, {8, 3}, {5, 3}, {11, 5}});
  EXPECT_EQ(Evaluate(*c.cluster.places, c.groups, bad), (Objective{0, 0, 0, 16, 1, 2}));
}

TEST(PlacementPageTest, ADataGroupThatFitsNoSegmentWaitsWhereThatIsRequired) {
  Case c = MakeCase(MakeCluster({{6, 6}}), MakeJob(8, 1, 1, 6, 1));
  c.cluster.hosts[0].free_gpus = c.cluster.hosts[6].free_gpus = 0;
  EXPECT_EQ(PlanGang(c.cluster, c.request()).outcome, Outcome::kPlaced);
  c.job.placement.data = {TopologyLevel::kSegment, Enforcement::kRequired};
  EXPECT_EQ(PlanGang(c.cluster, c.request()).outcome, Outcome::kNotNow);
}

TEST(PlacementPageTest, PipelinesStayInOneFabricPodWhereThatIsRequired) {
  Case c = MakeCase(MakeCluster({{4}, {4}}), MakeJob(8, 1, 1, 4, 2));
  EXPECT_EQ(PlanGang(c.cluster, c.request()).objective.fabric_pods, 2);
  c.job.placement.pipeline = {TopologyLevel::kFabricPod, Enforcement::kRequired};
  EXPECT_EQ(PlanGang(c.cluster, c.request()).outcome, Outcome::kNever);
}

TEST(PlacementPageTest, AtMostOneStageInASegmentSpreadsThem) {
  Case c = MakeCase(MakeCluster({{8, 8, 8}}), MakeJob(8, 1, 1, 2, 3));
  EXPECT_EQ(PlanGang(c.cluster, c.request()).objective.segments, 1);
  c.job.placement.max_stages_per_segment = 1;
  EXPECT_EQ(PlanGang(c.cluster, c.request()).objective.segments, 3);
}

TEST(PlacementPageTest, OnlyPreferredDataGroupsCrossFabricPods) {
  Case c = MakeCase(MakeCluster({{4}, {4}}), MakeJob(8, 1, 1, 6, 1));
  EXPECT_EQ(PlanGang(c.cluster, c.request()).outcome, Outcome::kNever);
  c.job.placement.data = {TopologyLevel::kFabricPod, Enforcement::kPreferred};
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.objective, (Objective{0, 8, 0, 8, 2, 2}));
  EXPECT_EQ(Sentence(plan),
            "Preferred groups cross fabric pods: 8 times data groups, 0 times tensor, context or "
            "expert groups");
}

TEST(PlacementPageTest, ReasonsCountHostsAndNameThePlace) {
  Case c = MakeCase(MakeCluster({{8, 8, 8, 8, 8}}), MakeJob(8, 1, 1, 6, 1));
  c.job.placement.data = {TopologyLevel::kSegment, Enforcement::kRequired};
  int busy = 0;
  for (int h = 0; h < 40; ++h) {
    const int most = h / 8 == 1 ? 4 : 7;  // hosts of the segment that are busy
    if (h % 8 < most && busy < 31) {
      c.cluster.hosts[static_cast<std::size_t>(h)].free_gpus = 0;
      ++busy;
    }
  }
  ASSERT_EQ(busy, 31);
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_THAT(plan.reasons,
              ElementsAre(Reason{ReasonCode::kNotEnoughHosts, TopologyLevel::kSegment, 2,
                                 "2 hosts short in segment p0s11: a data group needs 6 in one "
                                 "segment and no segment has more than 4 free"},
                          Reason{ReasonCode::kHostsOccupied, TopologyLevel::kFabric, 31,
                                 "31 hosts in use"}));
  EXPECT_EQ(
      Sentence(plan),
      "2 hosts short in segment p0s11: a data group needs 6 in one segment and no segment has "
      "more than 4 free; 31 hosts in use; with placement: {data: {within: "
      "FabricPod}}: Placed; with placement: {data: {mode: Preferred}}: Placed");
}

TEST(PlacementPageTest, RelaxationsSayWhatElseItTakes) {
  Case c = MakeCase(MakeCluster({{4, 4}}), MakeJob(8, 1, 1, 6, 1));
  c.job.placement.data = {TopologyLevel::kSegment, Enforcement::kRequired};
  for (int host : {0, 1, 5}) c.cluster.hosts[static_cast<std::size_t>(host)].free_gpus = 0;
  EXPECT_THAT(
      PlanGang(c.cluster, c.request()).relaxations,
      ElementsAre(Field(&Relaxation::change, "placement: {data: {within: FabricPod}}"),
                  Field(&Relaxation::change, "placement: {data: {mode: Preferred}}"),
                  Field(&Relaxation::change,
                        "placement: {data: {within: FabricPod}}; wait: until hosts are free, back "
                        "in service or no longer reserved"),
                  Field(&Relaxation::change,
                        "placement: {data: {within: FabricPod}}; hosts: 1 more in segment p0s11"),
                  Relaxation{"hosts: 2 more in segment p0s10", Outcome::kNotNow}));
}

TEST(PlacementPageTest, ContextAndExpertGroupsFollowTheirOwnLimits) {
  // Tensor and context groups of two hosts each: eight hosts in segments of five.
  Case c = MakeCase(MakeCluster({{5, 5}}), MakeJob(8, 2, 1, 4, 1));
  EXPECT_EQ(PlanGang(c.cluster, c.request()).objective.tensor_split_segments, 0);
  c = MakeCase(MakeCluster({{5, 5}}), MakeJob(8, 1, 8, 8, 1));
  EXPECT_EQ(PlanGang(c.cluster, c.request()).outcome, Outcome::kPlaced);
  c.job.placement.expert = {TopologyLevel::kSegment, Enforcement::kRequired};
  EXPECT_EQ(PlanGang(c.cluster, c.request()).outcome, Outcome::kNever);
}

TEST(PlacementPageTest, TheOrderOfAxesSaysWhoSharesAGroup) {
  // Two stages of four hosts: in Megatron's order hosts 0 to 3 are the first stage; with the
  // pipeline before data, every other host is.
  Case c = MakeCase(MakeCluster({{4, 4}}), MakeJob(8, 1, 1, 4, 2));
  EXPECT_EQ(PlanGang(c.cluster, c.request()).host_of_rank[1], HostId(1));
  workload::Job job = MakeJob(8, 1, 1, 4, 2);
  job.parallelism.order = *workload::ParseOrder("tp-cp-pp-ep-dp");
  c = MakeCase(MakeCluster({{4, 4}}), job);
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.host_of_rank[1], HostId(4));
  EXPECT_EQ(plan.objective, (Objective{0, 0, 0, 0, 1, 2}));
}

TEST(PlacementPageTest, SmallWorkersShareHosts) {
  // Four workers of two GPUs: two tensor groups of two workers.
  Case c = MakeCase(MakeCluster({{3}}), MakeJob(4, 1, 1, 2, 1, 2));
  c.cluster.hosts[0].free_gpus = 2;
  c.cluster.hosts[1].free_gpus = 4;
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.host_of_rank, Hosts({{1, 1}, {1, 1}, {2, 1}, {2, 1}}));
}

TEST(PlacementPageTest, ALeaderAndItsWorkersGetHostsOfTheirOwnPools) {
  Case c = MakeCase(MakeCluster({{8}}), MakeJob(8, 1, 1, 3, 1));
  const auto work = std::make_shared<const HostSet>(HostSet{1, 1, 1, 1, 1, 1, 1, 0});
  std::vector<RoleHosts> roles = {
      {0, std::make_shared<const HostSet>(HostSet{0, 0, 0, 0, 0, 0, 0, 1})}, {1, work}};
  GangRequest request = c.request();
  request.role_hosts = &roles;
  EXPECT_EQ(PlanGang(c.cluster, request).host_of_rank, Hosts({{7, 1}, {0, 2}}));
  roles[0].hosts = std::make_shared<const HostSet>(8, 0);
  const GangPlan none = PlanGang(c.cluster, request);
  EXPECT_EQ(none.outcome, Outcome::kNever);
  EXPECT_EQ(none.reasons[0].message,
            "1 host short for rank 0: 1 host needed, 0 that the pods may use in all");
}

TEST(PlacementPageTest, AStageLargerThanASegmentIsSplitOnce) {
  const Case c = MakeCase(MakeCluster({{4, 4, 4}}), MakeJob(8, 1, 1, 6, 2));
  // 4 + 2 of stage 0, 2 of stage 1 beside them, 4 in the third segment.
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.objective, (Objective{0, 0, 0, 16, 1, 3}));
  EXPECT_TRUE(plan.optimal);
}

}  // namespace
}  // namespace yardmaster::placement
