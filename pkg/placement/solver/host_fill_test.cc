#include "pkg/placement/solver/host_fill.h"

#include <gtest/gtest.h>
#include <map>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/solver/gang_solver.h"
#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;
using workload::Enforcement;
using workload::TopologyLevel;

TEST(HostFillTest, WorkersGetHostsOfTheirSegmentWithRoomAndSetsStayTogether) {
  Random random(1);
  int filled = 0, sets = 0;
  for (int round = 0; round < Rounds(1500); ++round) {
    const Case c = RandomCase(random, {10, 4, true});
    const fabric::Places& places = *c.cluster.places;
    const GangModel model = ModelOf(c.job, c.groups);
    const Capacity capacity = CapacityFor(c.cluster, c.request(), model.host_set_size);
    const std::vector<SegmentScore> scores = ScoreSegments(c.cluster, capacity);
    const SegmentPlan plan = ChooseSegments({places, model, c.groups, scores}, capacity);
    if (!plan.found) continue;
    const std::vector<HostId> hosts = FillHosts(c.cluster, capacity, model, plan.segment_of_worker);
    ASSERT_EQ(static_cast<int>(hosts.size()), c.job.workers) << Describe(c);
    std::map<HostId, int> given;
    std::map<int, HostId> host_of_set;
    for (std::size_t w = 0; w < hosts.size(); ++w) {
      ASSERT_EQ(places.segment_of(hosts[w]).value, plan.segment_of_worker[w]) << Describe(c);
      ASSERT_LE(++given[hosts[w]], capacity.of_host[hosts[w].index()]) << Describe(c);
      const auto at = host_of_set.emplace(model.host_sets.of[w], hosts[w]).first;
      ASSERT_EQ(at->second, hosts[w]) << Describe(c);
    }
    ++filled;
    sets += model.host_set_size > 1;
  }
  EXPECT_GT(filled, MoreThan(300));
  EXPECT_GT(sets, MoreThan(30));
}

// Hosts of a single segment.
std::vector<int> FilledHosts(const Case& c) {
  const GangModel model = ModelOf(c.job, c.groups);
  const Capacity capacity = CapacityFor(c.cluster, c.request(), model.host_set_size);
  std::vector<int> hosts;
  for (HostId host : FillHosts(c.cluster, capacity, model,
                               std::vector<int>(static_cast<std::size_t>(c.job.workers), 0))) {
    hosts.push_back(host.value);
  }
  return hosts;
}

TEST(HostFillTest, RanksAscendWithHostsWhereEveryWorkerHasItsOwn) {
  Case c = MakeCase(MakeCluster({{5}}), MakeJob(8, 1, 1, 4, 1));
  c.cluster.hosts[1].free_gpus = 0;
  EXPECT_EQ(FilledHosts(c), (std::vector<int>{0, 2, 3, 4}));
}

TEST(HostFillTest, TheTightestHostThatTakesAUnitComesFirst) {
  // Pairs of workers of two GPUs.
  Case c = MakeCase(MakeCluster({{3}}), MakeJob(4, 1, 1, 2, 1, 2));
  c.cluster.hosts[1].free_gpus = 4;
  c.cluster.hosts[2].free_gpus = 2;  // too tight for a pair
  EXPECT_EQ(FilledHosts(c), (std::vector<int>{1, 1, 0, 0}));
}

TEST(HostFillTest, DegradedHostsComeAfterHealthyOnesOfTheSameRoom) {
  Case c = MakeCase(MakeCluster({{3}}), MakeJob(8, 1, 1, 2, 1));
  c.cluster.hosts[0].degraded = true;
  EXPECT_EQ(FilledHosts(c), (std::vector<int>{1, 2}));
}

TEST(HostFillTest, AUnitWiderThanEveryHostIsPartedBetweenItsHostSets) {
  // One unit of four workers of four GPUs, two to a host.
  Case c = MakeCase(MakeCluster({{2}}), MakeJob(16, 1, 1, 1, 1, 4));
  EXPECT_EQ(FilledHosts(c), (std::vector<int>{0, 0, 1, 1}));
  // A set that must share a host has none that is wide enough.
  c.job.placement.tensor = {TopologyLevel::kHost, Enforcement::kRequired};
  EXPECT_TRUE(FilledHosts(c).empty());
}

}  // namespace
}  // namespace yardmaster::placement
