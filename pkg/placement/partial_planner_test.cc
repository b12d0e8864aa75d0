#include "pkg/placement/partial_planner.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <utility>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;
using fabric::SegmentId;

// A placed gang of `from` data replicas of one host each, and the same with `to`.
struct Growing {
  Case grown;  // its cluster shows the placed ranks' hosts as occupied
  Case empty;  // as grown, without them: what the verifier of whole assignments wants
  std::vector<HostId> hosts;
};

Growing MakeGrowing(const Cluster& cluster, int from, int to,
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

TEST(PartialPlannerGrowthTest, NewRanksGoIntoTheSegmentOfTheOthers) {
  const Growing g = MakeGrowing(MakeCluster({{4, 4}, {4}}), 2, 4);
  const GangPlan plan = Grow(g);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.objective.segments, 1);
  EXPECT_TRUE(std::equal(g.hosts.begin(), g.hosts.end(), plan.host_of_rank.begin()));
}

TEST(PartialPlannerGrowthTest, BackupHostsAreNotUsed) {
  Growing g = MakeGrowing(MakeCluster({{3}}), 2, 3);
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

TEST(PartialPlannerGrowthTest, NewRanksOfSeveralStagesKeepTheLimitsOfTheJobAndNoOthers) {
  Case grown = MakeCase(MakeCluster({{2}, {1}, {1}}), MakeJob(8, 1, 1, 2, 2));
  grown.job.placement.data = {workload::TopologyLevel::kFabric, workload::Enforcement::kPreferred};
  Growing g{grown, grown, {HostId(0), HostId(1)}};
  for (HostId host : g.hosts) g.grown.cluster.hosts[host.index()].free_gpus = 0;
  const GangPlan plan = Grow(g);  // the new data group lies in two fabric pods
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(Faults(g.empty, plan.host_of_rank), "");
}

TEST(PartialPlannerGrowthTest, WhatALimitForbidsIsNamed) {
  const Growing g = MakeGrowing(MakeCluster({{2, 4}}), 2, 4, workload::TopologyLevel::kSegment);
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

TEST(PartialPlannerGrowthTest, AgreesWithExhaustiveSearchOnRandomSmallFabrics) {
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
    Growing g = MakeGrowing(cluster, from, from + 1 + below(3), levels[below(3)]);
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

// A placed gang of which one segment is lost.
struct Leaving {
  Case placed;  // its cluster shows the hosts as occupied, those of the segment as out
  Case empty;   // without the gang: what the verifier of whole assignments wants
  std::vector<HostId> hosts;
  std::vector<int> ranks;
};

// `hosts`: where it is; empty: where the planner puts it.
Leaving MakeLeaving(const Cluster& cluster, const workload::Job& job, SegmentId lost,
                    std::vector<HostId> hosts = {}) {
  Leaving l{MakeCase(cluster, job), MakeCase(cluster, job), std::move(hosts), {}};
  if (l.hosts.empty()) l.hosts = PlanGang(l.empty.cluster, l.empty.request()).host_of_rank;
  const fabric::Places& places = *cluster.places;
  for (std::size_t rank = 0; rank < l.hosts.size(); ++rank) {
    l.placed.cluster.hosts[l.hosts[rank].index()].free_gpus -= 8;
    if (places.segment_of(l.hosts[rank]) == lost) l.ranks.push_back(static_cast<int>(rank));
  }
  for (const HostId host : places.hosts_of(lost)) {
    l.placed.cluster.hosts[host.index()].unavailable = Unavailability::kSegmentLost;
  }
  return l;
}

GangPlan Leave(const Leaving& l) {
  return PlanEvacuation(l.placed.cluster, l.placed.request(), l.hosts, l.ranks, {},
                        [&](const std::vector<HostId>& hosts) {
                          const std::string faults = Faults(l.empty, hosts);
                          return faults.empty() ? absl::OkStatus()
                                                : absl::FailedPreconditionError(faults);
                        });
}

bool OthersStay(const Leaving& l, const GangPlan& plan) {
  for (std::size_t rank = 0; rank < l.hosts.size(); ++rank) {
    const bool leaves = std::binary_search(l.ranks.begin(), l.ranks.end(), static_cast<int>(rank));
    if (leaves == (plan.host_of_rank[rank] == l.hosts[rank])) return false;
  }
  return true;
}

TEST(PartialPlannerEvacuationTest, ADataGroupGoesToOneSegmentRatherThanToTheNearestHosts) {
  // Stages of three hosts in the segments 0 and 1; 1 has a host left, 2 has one, 3 has room for
  // all.
  const Leaving l = MakeLeaving(MakeCluster({{3, 4, 1, 3}}), MakeJob(8, 1, 1, 3, 2), SegmentId(0),
                                {HostId(0), HostId(1), HostId(2), HostId(3), HostId(4), HostId(5)});
  ASSERT_EQ(l.ranks.size(), 3u);
  const GangPlan plan = Leave(l);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_TRUE(OthersStay(l, plan));
  EXPECT_EQ(plan.objective.data_split_segments, 0);
  for (const int rank : l.ranks) {
    EXPECT_EQ(
        l.placed.cluster.places->segment_of(plan.host_of_rank[static_cast<std::size_t>(rank)]),
        SegmentId(3));
  }
}

TEST(PartialPlannerEvacuationTest, AllRanksLeaveOrNone) {
  const Leaving l = MakeLeaving(MakeCluster({{3, 3, 1, 1}}), MakeJob(8, 1, 1, 3, 2), SegmentId(0));
  const GangPlan plan = Leave(l);
  EXPECT_EQ(plan.outcome, Outcome::kNotNow);
  EXPECT_TRUE(plan.host_of_rank.empty());
  EXPECT_FALSE(plan.reasons.empty());
}

TEST(PartialPlannerEvacuationTest, TheChangeOfALimitThatWouldHelpIsNamed) {
  workload::Job job = MakeJob(8, 1, 1, 3, 2);
  job.placement.data = {workload::TopologyLevel::kSegment, workload::Enforcement::kRequired};
  const GangPlan plan = Leave(MakeLeaving(MakeCluster({{3, 3, 2, 1}}), job, SegmentId(0)));
  ASSERT_EQ(plan.outcome, Outcome::kNotNow);
  ASSERT_FALSE(plan.relaxations.empty());
  EXPECT_EQ(plan.relaxations[0].change, "placement: {data: {within: FabricPod}}");
}

TEST(PartialPlannerEvacuationTest, ALimitThatTheStayingRanksSetIsNamed) {
  // A tensor group of two hosts, one in each segment; the other fabric pod has the only room.
  workload::Job job = MakeJob(16, 1, 1, 1, 1);
  job.placement.tensor = {workload::TopologyLevel::kFabricPod, workload::Enforcement::kRequired};
  const Leaving l = MakeLeaving(MakeCluster({{1, 1}, {1}}), job, SegmentId(0));
  ASSERT_EQ(l.ranks.size(), 1u);
  const GangPlan plan = Leave(l);
  ASSERT_EQ(plan.outcome, Outcome::kNotNow);
  ASSERT_EQ(plan.reasons.size(), 1u);
  EXPECT_NE(plan.reasons[0].message.find("beside the ranks that stay"), std::string::npos)
      << plan.reasons[0].message;
}

// Whether some choice of hosts for the leaving ranks keeps every limit.
bool CanLeave(const Leaving& l) {
  std::vector<HostId> hosts = l.hosts;
  const std::function<bool(std::size_t)> search = [&](std::size_t next) {
    if (next == l.ranks.size()) return Faults(l.empty, hosts).empty();
    for (const HostId host : l.placed.cluster.places->hosts()) {
      const HostState& state = l.placed.cluster.hosts[host.index()];
      if (state.unavailable != Unavailability::kNo) continue;
      hosts[static_cast<std::size_t>(l.ranks[next])] = host;
      if (search(next + 1)) return true;
    }
    return false;
  };
  return search(0);
}

TEST(PartialPlannerEvacuationTest, FindsAPlaceOnRandomSmallFabricsExactlyWhereThereIsOne) {
  std::mt19937 random(11);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const workload::TopologyLevel levels[] = {workload::TopologyLevel::kSegment,
                                            workload::TopologyLevel::kFabricPod,
                                            workload::TopologyLevel::kFabric};
  int left = 0;
  int stayed = 0;
  for (int round = 0; round < Rounds(600); ++round) {
    SCOPED_TRACE(round);
    const Cluster cluster =
        MakeCluster({{1 + below(3), 1 + below(3), 1 + below(2)}, {1 + below(3)}});
    workload::Job job = MakeJob(8, 1, 1, 1 + below(3), 1 + below(2));
    job.placement.data = {levels[below(3)], workload::Enforcement::kRequired};
    Leaving l = MakeLeaving(cluster, job, SegmentId(below(4)));
    if (l.hosts.empty() || l.ranks.empty()) continue;
    for (std::size_t id = 0; id < l.placed.cluster.hosts.size(); ++id) {
      const bool mine =
          std::count(l.hosts.begin(), l.hosts.end(), HostId(static_cast<int>(id))) > 0;
      if (mine || below(4) != 0) continue;
      l.placed.cluster.hosts[id].free_gpus = 0;
      l.empty.cluster.hosts[id].free_gpus = 0;
    }
    const GangPlan plan = Leave(l);
    EXPECT_EQ(plan.outcome == Outcome::kPlaced, CanLeave(l));
    if (plan.outcome != Outcome::kPlaced) {
      ++stayed;
      continue;
    }
    ++left;
    EXPECT_EQ(Faults(l.empty, plan.host_of_rank), "");
    EXPECT_TRUE(OthersStay(l, plan));
  }
  EXPECT_GT(left, MoreThan(50));
  EXPECT_GT(stayed, MoreThan(50));
}

}  // namespace
}  // namespace yardmaster::placement
