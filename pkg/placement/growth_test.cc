#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <random>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/partial_planner.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;

// A placed gang of `from` data replicas of one host each, and the same with `to`.
struct Growing {
  Case grown;  // its cluster shows the placed ranks' hosts as occupied
  Case empty;  // as grown, without them: what the verifier of whole assignments wants
  std::vector<HostId> hosts;
};

Growing Make(const Cluster& cluster, int from, int to,
             workload::TopologyLevel data_within = workload::TopologyLevel::kFabricPod) {
  workload::Job small = MakeJob(8, 1, 1, from, 1);
  workload::Job large = MakeJob(8, 1, 1, to, 1);
  small.placement.data = large.placement.data = {data_within, workload::Enforcement::kRequired};
  Growing g{MakeCase(cluster, large), MakeCase(cluster, large), {}};
  const Case placed = MakeCase(cluster, small);
  g.hosts = PlanGang(placed.cluster, placed.request()).host_of_rank;
  for (HostId host : g.hosts) g.grown.cluster.hosts[host.index()].free_gpus -= 8;
  return g;
}

GangPlan Grow(const Growing& g) {
  return GrowGang(
      g.grown.cluster, g.grown.request(), g.hosts, {}, [&](const std::vector<HostId>& hosts) {
        const std::string faults = Faults(g.empty, hosts);
        return faults.empty() ? absl::OkStatus() : absl::FailedPreconditionError(faults);
      });
}

// Whether some choice of hosts for the new ranks keeps every limit.
bool CanGrow(const Growing& g) {
  std::vector<HostId> hosts = g.hosts;
  const std::size_t workers = static_cast<std::size_t>(g.grown.job.workers);
  const std::function<bool()> search = [&] {
    if (hosts.size() == workers) return Faults(g.empty, hosts).empty();
    for (int id = 0; id < g.grown.cluster.places->num_hosts(); ++id) {
      if (g.grown.cluster.hosts[static_cast<std::size_t>(id)].backup) continue;
      hosts.push_back(HostId(id));
      if (search()) return true;
      hosts.pop_back();
    }
    return false;
  };
  return search();
}

TEST(GrowthTest, NewRanksGoIntoTheSegmentOfTheOthers) {
  const Growing g = Make(MakeCluster({{4, 4}, {4}}), 2, 4);
  const GangPlan plan = Grow(g);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.objective.segments, 1);
  EXPECT_TRUE(std::equal(g.hosts.begin(), g.hosts.end(), plan.host_of_rank.begin()));
}

TEST(GrowthTest, BackupHostsAreNotUsed) {
  Growing g = Make(MakeCluster({{3}}), 2, 3);
  for (int id = 0; id < 3; ++id) {
    if (std::find(g.hosts.begin(), g.hosts.end(), HostId(id)) == g.hosts.end()) {
      g.grown.cluster.hosts[static_cast<std::size_t>(id)].backup = true;
    }
  }
  const GangPlan plan = Grow(g);
  EXPECT_EQ(plan.outcome, Outcome::kNotNow);
  EXPECT_TRUE(plan.host_of_rank.empty());
  EXPECT_FALSE(plan.reasons.empty());
}

TEST(GrowthTest, NewRanksOfSeveralStagesKeepTheLimitsOfTheJobAndNoOthers) {
  Case grown = MakeCase(MakeCluster({{2}, {1}, {1}}), MakeJob(8, 1, 1, 2, 2));
  grown.job.placement.data = {workload::TopologyLevel::kFabric, workload::Enforcement::kPreferred};
  Growing g{grown, grown, {HostId(0), HostId(1)}};
  for (HostId host : g.hosts) g.grown.cluster.hosts[host.index()].free_gpus = 0;
  const GangPlan plan = Grow(g);  // the new data group lies in two fabric pods
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(Faults(g.empty, plan.host_of_rank), "");
}

TEST(GrowthTest, WhatALimitForbidsIsNamed) {
  const Growing g = Make(MakeCluster({{2, 4}}), 2, 4, workload::TopologyLevel::kSegment);
  Growing tight = g;
  // The gang fills a segment of two; the other one has room.
  tight.hosts = {HostId(0), HostId(1)};
  tight.grown = MakeCase(MakeCluster({{2, 4}}), g.grown.job);
  for (HostId host : tight.hosts) tight.grown.cluster.hosts[host.index()].free_gpus = 0;
  const GangPlan plan = Grow(tight);
  EXPECT_EQ(plan.outcome, Outcome::kNotNow);
  ASSERT_EQ(plan.reasons.size(), 1u);
  EXPECT_NE(plan.reasons[0].message.find("keeps every limit"), std::string::npos);
}

TEST(GrowthTest, AgreesWithExhaustiveSearchOnRandomSmallFabrics) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const workload::TopologyLevel levels[] = {workload::TopologyLevel::kSegment,
                                            workload::TopologyLevel::kFabricPod,
                                            workload::TopologyLevel::kFabric};
  int grown = 0;
  int refused = 0;
  for (int round = 0; round < Rounds(300); ++round) {
    SCOPED_TRACE(round);
    Cluster cluster = MakeCluster({{1 + below(3), 1 + below(3)}, {1 + below(2)}});
    const int from = 1 + below(2);
    Growing g = Make(cluster, from, from + 1 + below(3), levels[below(3)]);
    if (g.hosts.empty()) continue;
    for (std::size_t id = 0; id < g.grown.cluster.hosts.size(); ++id) {
      const bool mine =
          std::count(g.hosts.begin(), g.hosts.end(), HostId(static_cast<int>(id))) > 0;
      if (mine || below(4) != 0) continue;
      g.grown.cluster.hosts[id].free_gpus = 0;
      g.empty.cluster.hosts[id].free_gpus = 0;
    }
    const GangPlan plan = Grow(g);
    EXPECT_EQ(plan.outcome == Outcome::kPlaced, CanGrow(g));
    if (plan.outcome != Outcome::kPlaced) {
      ++refused;
      continue;
    }
    ++grown;
    EXPECT_EQ(Faults(g.empty, plan.host_of_rank), "");
    EXPECT_TRUE(std::equal(g.hosts.begin(), g.hosts.end(), plan.host_of_rank.begin()));
  }
  EXPECT_GT(grown, MoreThan(50));
  EXPECT_GT(refused, MoreThan(50));
}

}  // namespace
}  // namespace yardmaster::placement
