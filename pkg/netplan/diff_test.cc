#include "pkg/netplan/diff.h"

#include "gtest/gtest.h"

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::netplan {
namespace {

TEST(DiffTest, NamesWhatChanged) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 4);
  spec.backup.hosts_per_segment = 0;
  plan::Snapshot s = plan::MakeSnapshot(spec);
  plan::AddJob(s, "a", 2);
  const plan::Plan before = plan::MakePlan(s);
  const NetworkPlan network = PlanNetwork(s, PlacedJobs(before));
  EXPECT_TRUE(Diff({s, before, network}, {s, before, network}).empty());
  plan::Plan after = before;
  after.jobs[0].gang.host_of_rank[1] = fabric::HostId(7);
  NetworkPlan other = network;
  other.jobs[0]->level = 3;
  const PlanDiff diff = Diff({s, before, network}, {s, after, other});
  ASSERT_EQ(diff.moved.size(), 1u);
  EXPECT_EQ(diff.moved[0].rank, 1);
  EXPECT_EQ(diff.moved[0].to, "p0s1h003");
  ASSERT_EQ(diff.levels.size(), 1u);
  EXPECT_EQ(diff.levels[0].to, 3);
  EXPECT_EQ(Diff({s, plan::Plan{}, NetworkPlan{}}, {s, before, network}).moved.size(), 2u);
}

TEST(DiffTest, AFlowWithoutAPortChangesOnlyWhenItGetsOrLosesOne) {
  plan::Snapshot s = plan::MakeSnapshot(fabric::SmallHpn(1, 2, 4));
  plan::AddJob(s, "a", 2);
  const plan::Plan placement = plan::MakePlan(s);
  NetworkPlan without;
  PathAssignment& path = without.paths.emplace_back();
  path.job = plan::JobId(0);
  path.src = {fabric::HostId(0), 0, 0};
  path.dst = {fabric::HostId(1), 0, 0};
  NetworkPlan with = without;
  with.paths[0].source_port = 50'000;
  const NetworkPlan none;
  EXPECT_TRUE(Diff({s, placement, none}, {s, placement, without}).empty());
  EXPECT_TRUE(Diff({s, placement, without}, {s, placement, none}).empty());
  const PlanDiff gained = Diff({s, placement, without}, {s, placement, with});
  ASSERT_EQ(gained.ports.size(), 1u);
  EXPECT_EQ(gained.ports[0].before, 0);
  EXPECT_EQ(gained.ports[0].after, 50'000);
  const PlanDiff lost = Diff({s, placement, with}, {s, placement, none});
  ASSERT_EQ(lost.ports.size(), 1u);
  EXPECT_EQ(lost.ports[0].after, 0);
}

}  // namespace
}  // namespace yardmaster::netplan
