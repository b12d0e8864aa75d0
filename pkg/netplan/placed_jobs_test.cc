// What jobs get of the network that a plan has just placed.
#include "gtest/gtest.h"

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::netplan {
namespace {

NetworkPlan PlanAll(const plan::Snapshot& snapshot) {
  return PlanNetwork(snapshot, PlacedJobs(plan::MakePlan(snapshot)));
}

TEST(PlacedJobsTest, PlacedJobsGetIntensityAndLevels) {
  plan::Snapshot s = plan::MakeSnapshot(fabric::SmallHpn(1, 2, 9));
  plan::AddJob(s, "split", 12);
  s.jobs[0].job.placement.data = {workload::TopologyLevel::kFabricPod,
                                  workload::Enforcement::kRequired};
  plan::AddJob(s, "small", 1);
  plan::AddJob(s, "waits", 9);
  const NetworkPlan plan = PlanAll(s);
  ASSERT_EQ(plan.jobs.size(), 3u);
  ASSERT_TRUE(plan.jobs[0] && plan.jobs[1]);
  EXPECT_GT(plan.jobs[0]->intensity, 0);
  EXPECT_GT(plan.jobs[0]->communication_seconds, 0);
  EXPECT_EQ(plan.jobs[1]->communication_seconds, 0);
  EXPECT_GE(plan.jobs[0]->level, plan.jobs[1]->level);
  EXPECT_FALSE(plan.jobs[2]);
}

TEST(PlacedJobsTest, TheSamePlanTwice) {
  plan::Snapshot s = plan::MakeSnapshot(fabric::SmallHpn(2, 2, 5));
  for (const char* name : {"a", "b", "c", "d", "e"}) plan::AddJob(s, name, 3);
  const NetworkPlan one = PlanAll(s);
  const NetworkPlan two = PlanAll(s);
  ASSERT_EQ(one.paths.size(), two.paths.size());
  for (std::size_t i = 0; i < one.paths.size(); ++i) {
    EXPECT_EQ(one.paths[i].source_port, two.paths[i].source_port);
    EXPECT_EQ(one.paths[i].links, two.paths[i].links);
  }
}

TEST(PlacedJobsTest, ConnectionsGetSourcePortsOnBothPlanes) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 3);
  fabric::HashSpec hash;
  hash.kind = fabric::HashKind::kCrc;
  spec.ecmp_hash["tor"] = spec.ecmp_hash["agg"] = hash;
  plan::Snapshot s = plan::MakeSnapshot(spec);
  plan::AddJob(s, "a", 4);
  const NetworkPlan plan = PlanAll(s);
  ASSERT_FALSE(plan.paths.empty());
  int ports[2] = {0, 0};
  for (const PathAssignment& path : plan.paths) {
    EXPECT_NE(path.source_port, 0);
    ASSERT_FALSE(path.links.empty());
    EXPECT_EQ(path.links[0], fabric::Network::up(s.network->host_cable(path.src)));
    EXPECT_EQ(path.links.back(), fabric::Network::down(s.network->host_cable(path.dst)));
    ++ports[path.src.port];
  }
  EXPECT_EQ(ports[0], ports[1]);
}

TEST(PlacedJobsTest, WithoutPortsThereAreLevelsAlone) {
  plan::Snapshot s = plan::MakeSnapshot(fabric::SmallHpn(1, 2, 3));
  plan::AddJob(s, "a", 4);
  NetworkInput input;
  input.ports = false;
  const NetworkPlan plan = PlanNetwork(s, PlacedJobs(plan::MakePlan(s)), input);
  EXPECT_TRUE(plan.jobs[0]);
  EXPECT_TRUE(plan.paths.empty());
  s.network = nullptr;
  const NetworkPlan none = PlanAll(s);
  ASSERT_EQ(none.jobs.size(), 1u);
  EXPECT_FALSE(none.jobs[0]);
}

}  // namespace
}  // namespace yardmaster::netplan
