#include "pkg/placement/role_planner.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"
#include "pkg/placement/worker_need.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;
using workload::TopologyLevel;

void SetMemory(Cluster& cluster, const std::vector<std::int64_t>& memory) {
  cluster.resources.names = std::make_shared<const std::vector<std::string>>(1, "memory");
  cluster.resources.free = memory;
  cluster.resources.allocatable = std::make_shared<const std::vector<std::int64_t>>(memory);
}

// `workers` of one host each; the first `leaders` ask for 100 of memory, the others for 10.
Case MakeRoles(Cluster cluster, int workers, int leaders) {
  Case c = MakeCase(std::move(cluster), MakeJob(8, 1, 1, workers, 1));
  c.job.requests = {{"memory", 100}};
  c.job.roles = {{0, {{"memory", 100}}}, {leaders, {{"memory", 10}}}};
  return c;
}

// Everything wrong with a placement, resource by resource and rank by rank.
bool Holds(const Case& c, const std::vector<HostId>& hosts) {
  Cluster cluster = c.cluster;
  const NeedsByRank needs(cluster, c.job);
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const HostState& host = cluster.hosts[hosts[rank].index()];
    if (host.backup || host.unavailable != Unavailability::kNo) return false;
    if (needs.of(static_cast<int>(rank)).RoomOn(cluster, hosts[rank]) < 1) return false;
    needs.of(static_cast<int>(rank)).Take(cluster, hosts[rank]);
  }
  Case alike = c;  // limits: without resources
  alike.job.requests.clear();
  alike.job.roles.clear();
  return Faults(alike, hosts).empty();
}

std::optional<Objective> Best(const Case& c) {
  return LeastObjective(c, [&](const std::vector<HostId>& hosts) {
    return hosts.size() < static_cast<std::size_t>(c.job.workers) || Holds(c, hosts);
  });
}

TEST(RolePlannerTest, ALeaderThatNeedsMoreThanItsWorkersGoesWhereThereIsMore) {
  Cluster cluster = MakeCluster({{4}});
  SetMemory(cluster, {20, 20, 200, 20});
  const Case c = MakeRoles(std::move(cluster), 4, 1);
  const GangPlan plan = PlanGang(c.cluster, c.request());
  ASSERT_EQ(plan.outcome, Outcome::kPlaced) << Sentence(plan);
  EXPECT_EQ(plan.host_of_rank[0], HostId(2));
  EXPECT_TRUE(plan.optimal);
  EXPECT_TRUE(Holds(c, plan.host_of_rank));
}

TEST(RolePlannerTest, OneSegmentForAllRolesGoesBeforeAWiderPlaceForTheLargest) {
  Cluster cluster = MakeCluster({{3, 2, 2}});
  // Only hosts of the second and third segment are large, two of each.
  SetMemory(cluster, {20, 20, 100, 100, 100, 100, 100});
  const Case c = MakeRoles(std::move(cluster), 3, 1);
  const GangPlan plan = PlanGang(c.cluster, c.request());
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.objective.segments, 1);
}

TEST(RolePlannerTest, PipelinesThatMustStayInAFabricPodMayBeInSeveral) {
  Cluster cluster = MakeCluster({{2}, {2}});
  SetMemory(cluster, {100, 20, 20, 20});
  Case c = MakeCase(std::move(cluster), MakeJob(8, 1, 1, 2, 2));
  c.job.parallelism.order = workload::ParseOrder("tp-cp-pp-ep-dp").value();  // ranks 0 1 and 2 3
  c.groups = workload::GroupsOf(c.job);
  c.job.requests = {{"memory", 100}};
  c.job.roles = {{0, {{"memory", 100}}}, {1, {{"memory", 10}}}};
  c.job.placement.pipeline = {TopologyLevel::kFabricPod, workload::Enforcement::kRequired};
  c.job.placement.data.mode = workload::Enforcement::kPreferred;
  const GangPlan plan = PlanGang(c.cluster, c.request());
  ASSERT_EQ(plan.outcome, Outcome::kPlaced) << Sentence(plan);
  EXPECT_TRUE(Holds(c, plan.host_of_rank));
  EXPECT_EQ(plan.objective.fabric_pods, 2);
}

TEST(RolePlannerTest, RolesThatFitNowhereSaySo) {
  Cluster cluster = MakeCluster({{3}});
  SetMemory(cluster, {20, 20, 20});
  const Case c = MakeRoles(std::move(cluster), 3, 1);
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  EXPECT_NE(Sentence(plan).find("roles ask for different amounts"), std::string::npos)
      << Sentence(plan);
}

TEST(RolePlannerTest, RolesThatFitOnceOthersHaveLeftAreNotToldNever) {
  Cluster cluster = MakeCluster({{3}});
  SetMemory(cluster, {20, 20, 100});
  cluster.resources.free[2] = 20;
  const Case c = MakeRoles(std::move(cluster), 3, 1);
  EXPECT_EQ(PlanGang(c.cluster, c.request()).outcome, Outcome::kNotNow);
}

TEST(RolePlannerTest, WorkersOfRolesShareAHostWhereTheyFitTogether) {
  Cluster cluster = MakeCluster({{1}});
  SetMemory(cluster, {110});
  Case c = MakeCase(std::move(cluster), MakeJob(1, 1, 1, 2, 1, 1));
  c.job.requests = {{"memory", 100}};
  c.job.roles = {{0, {{"memory", 100}}}, {1, {{"memory", 10}}}};
  EXPECT_EQ(PlanGang(c.cluster, c.request()).outcome, Outcome::kPlaced);
}

TEST(RolePlannerTest, OnRandomSmallFabricsAgreesWithExhaustiveSearchWhereOnePodHoldsTheGang) {
  int placed = 0;
  int refused = 0;
  int best = 0;
  for (std::uint64_t seed = 0; seed < Rounds(400u); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto below = [&](int n) {
      return static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
    };
    Cluster cluster = MakeCluster({{1 + below(3), 1 + below(3)}, {1 + below(3)}});
    std::vector<std::int64_t> memory;
    for (std::size_t i = 0; i < cluster.hosts.size(); ++i)
      memory.push_back(below(3) == 0 ? 150 : 30);
    SetMemory(cluster, memory);
    for (HostState& host : cluster.hosts) {
      if (below(5) == 0) host.free_gpus = 0;
    }
    const int workers = 2 + below(3);
    Case c = MakeRoles(std::move(cluster), workers, 1 + below(workers - 1));
    const TopologyLevel levels[] = {TopologyLevel::kSegment, TopologyLevel::kFabricPod};
    c.job.placement.data = {levels[below(2)], workload::Enforcement::kRequired};
    const GangPlan plan = PlanGang(c.cluster, c.request());
    const std::optional<Objective> least = Best(c);
    EXPECT_EQ(plan.outcome == Outcome::kPlaced, least.has_value());
    if (plan.outcome != Outcome::kPlaced || !least) {
      ++refused;
      continue;
    }
    ++placed;
    EXPECT_TRUE(Holds(c, plan.host_of_rank));
    EXPECT_EQ(Evaluate(*c.cluster.places, c.groups, plan.host_of_rank), plan.objective);
    EXPECT_LE(*least, plan.objective);
    EXPECT_LE(plan.bound, *least);
    if (plan.optimal) {
      EXPECT_EQ(plan.objective, *least);
    }
    best += plan.objective == *least ? 1 : 0;
  }
  EXPECT_GT(placed, MoreThan(100));
  EXPECT_GT(refused, MoreThan(50));
  EXPECT_EQ(best, placed) << "roles are not searched together, yet on these fabrics it is enough";
}

// One role after the other: workers and the GPUs of each. One data group, but for workers without.
Case MakeShapes(Cluster cluster, const std::vector<workload::WorkerRun>& runs) {
  workload::Job job;
  job.key = {"default", "job"};
  job.workers = job.gpus_per_worker = job.parallelism.data = 0;
  for (const workload::WorkerRun& run : runs) {
    job.roles.push_back({job.workers, {}, run.gpus});
    job.workers += run.workers;
    job.gpus_per_worker = std::max(job.gpus_per_worker, run.gpus);
    job.parallelism.data += run.workers * run.gpus;
  }
  Case c;
  c.cluster = std::move(cluster);
  c.groups = workload::GroupsOf(job);
  c.job = std::move(job);
  return c;
}

std::vector<int> GpusByRank(const std::vector<workload::WorkerRun>& runs) {
  std::vector<int> gpus;
  for (const workload::WorkerRun& run : runs) {
    gpus.insert(gpus.end(), static_cast<std::size_t>(run.workers), run.gpus);
  }
  return gpus;
}

// Counts host by host, and the data group's limit worker by worker.
bool HoldsShapes(const Case& c, const std::vector<int>& gpus, const std::vector<HostId>& hosts) {
  std::vector<int> left;
  for (const HostState& host : c.cluster.hosts) left.push_back(host.free_gpus);
  std::optional<HostId> first;
  const fabric::Places& places = *c.cluster.places;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const HostState& host = c.cluster.hosts[hosts[rank].index()];
    if (host.backup || host.unavailable != Unavailability::kNo) return false;
    left[hosts[rank].index()] -= gpus[rank];
    if (left[hosts[rank].index()] < 0) return false;
    if (gpus[rank] == 0) continue;
    if (!first) first = hosts[rank];
    const bool together = c.job.placement.data.within == TopologyLevel::kSegment
                              ? places.segment_of(*first) == places.segment_of(hosts[rank])
                              : places.fabric_pod_of(*first) == places.fabric_pod_of(hosts[rank]);
    if (!together) return false;
  }
  return true;
}

std::optional<Objective> BestOfShapes(const Case& c, const std::vector<int>& gpus) {
  return LeastObjective(
      c, [&](const std::vector<HostId>& hosts) { return HoldsShapes(c, gpus, hosts); });
}

TEST(RolePlannerTest, ALauncherWithOneGpuStandsBesideOthersAndLeavesFreeHostsWhole) {
  Cluster cluster = MakeCluster({{4}});
  cluster.hosts[1].free_gpus = 2;
  const Case c = MakeShapes(std::move(cluster), {{1, 1}, {2, 8}});
  const GangPlan plan = PlanGang(c.cluster, c.request());
  ASSERT_EQ(plan.outcome, Outcome::kPlaced) << Sentence(plan);
  EXPECT_EQ(plan.host_of_rank[0], HostId(1));
}

TEST(RolePlannerTest, WorkersOfFewerGpusTakeWhatTheLargestLeave) {
  Cluster cluster = MakeCluster({{3}});
  cluster.hosts[2].free_gpus = 3;
  const Case c = MakeShapes(std::move(cluster), {{3, 1}, {2, 8}});
  const GangPlan plan = PlanGang(c.cluster, c.request());
  ASSERT_EQ(plan.outcome, Outcome::kPlaced) << Sentence(plan);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(plan.host_of_rank[rank], HostId(2));
}

TEST(RolePlannerTest, AWorkerWithoutGpusIsInNoGroupAndNeedsNoFreeGpu) {
  Cluster cluster = MakeCluster({{2}, {2}});
  for (const int host : {0, 1}) cluster.hosts[host].free_gpus = 8;
  for (const int host : {2, 3}) cluster.hosts[host].free_gpus = 0;
  const Case c = MakeShapes(std::move(cluster), {{1, 0}, {2, 8}});
  EXPECT_TRUE(c.groups.stages_of_worker[0].empty());
  const GangPlan plan = PlanGang(c.cluster, c.request());
  ASSERT_EQ(plan.outcome, Outcome::kPlaced) << Sentence(plan);
  EXPECT_EQ(plan.objective.segments, 1);
}

TEST(RolePlannerTest, ARefusalNamesTheRoleThatFindsNoPlaceAndThoseBeforeIt) {
  Cluster cluster = MakeCluster({{2}});
  const Case c = MakeShapes(std::move(cluster), {{1, 2}, {2, 8}});
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  const std::string why = Sentence(plan);
  EXPECT_NE(why.find("ranks 1 to 2 (2 workers of 8 GPUs)"), std::string::npos) << why;
  EXPECT_NE(why.find("rank 0 (1 worker of 2 GPUs)"), std::string::npos) << why;
  EXPECT_TRUE(plan.host_of_rank.empty());
}

TEST(RolePlannerTest, ShapesOnRandomSmallFabricsArePlacedWholeWhereverExhaustiveSearchFindsAPlace) {
  int placed = 0;
  int refused = 0;
  int best = 0;
  for (std::uint64_t seed = 0; seed < Rounds(600u); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto below = [&](int n) {
      return static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
    };
    Cluster cluster = MakeCluster({{1 + below(3), 1 + below(2)}, {1 + below(2)}});
    for (HostState& host : cluster.hosts) {
      const std::int16_t free[] = {0, 1, 2, 4, 8, 8, 8};
      host.free_gpus = free[below(7)];
      host.backup = below(10) == 0;
      if (below(10) == 0) host.unavailable = Unavailability::kCordoned;
    }
    const int sizes[] = {0, 1, 2, 4, 8};
    std::vector<workload::WorkerRun> runs{{1 + below(2), sizes[below(5)]},
                                          {1 + below(2), sizes[1 + below(4)]}};
    if (below(3) == 0) runs.push_back({1, sizes[below(5)]});
    Case c = MakeShapes(std::move(cluster), runs);
    const TopologyLevel levels[] = {TopologyLevel::kSegment, TopologyLevel::kFabricPod};
    c.job.placement.data = {levels[below(2)], workload::Enforcement::kRequired};
    ASSERT_TRUE(workload::Problems(c.job, 8).empty());
    const GangPlan plan = PlanGang(c.cluster, c.request());
    const std::vector<int> gpus = GpusByRank(runs);
    const std::optional<Objective> least = BestOfShapes(c, gpus);
    EXPECT_EQ(plan.outcome == Outcome::kPlaced, least.has_value()) << Sentence(plan);
    EXPECT_EQ(PlanGang(c.cluster, c.request()).host_of_rank, plan.host_of_rank);
    // The same shapes with other ranks are placed equally well.
    const std::vector<workload::WorkerRun> turned(runs.rbegin(), runs.rend());
    Case other = MakeShapes(c.cluster, turned);
    other.job.placement.data = c.job.placement.data;
    const GangPlan again = PlanGang(other.cluster, other.request());
    EXPECT_EQ(again.outcome == Outcome::kPlaced, plan.outcome == Outcome::kPlaced);
    EXPECT_EQ(again.objective, plan.objective);
    if (plan.outcome != Outcome::kPlaced || !least) {
      EXPECT_TRUE(plan.host_of_rank.empty());
      ++refused;
      continue;
    }
    ++placed;
    ASSERT_EQ(plan.host_of_rank.size(), gpus.size());
    EXPECT_TRUE(HoldsShapes(c, gpus, plan.host_of_rank));
    EXPECT_EQ(Evaluate(*c.cluster.places, c.groups, plan.host_of_rank), plan.objective);
    EXPECT_LE(*least, plan.objective);
    EXPECT_LE(plan.bound, *least);
    if (plan.optimal) {
      EXPECT_EQ(plan.objective, *least);
    }
    best += plan.objective == *least ? 1 : 0;
  }
  EXPECT_GT(placed, MoreThan(150));
  EXPECT_GT(refused, MoreThan(100));
  EXPECT_EQ(best, placed) << "roles are not searched together, yet on these fabrics it is enough";
}

// Two hosts of 8 GPUs hold them as 2 + 2 + 4 and 2 + 3 + 3, which no order of the roles finds.
TEST(RolePlannerTest, AGangWhosePlaceIsNotFoundIsNotToldNever) {
  const std::vector<workload::WorkerRun> runs = {{3, 2}, {1, 3}, {1, 4}, {1, 3}};
  const Case c = MakeShapes(MakeCluster({{2}}), runs);
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNotNow) << Sentence(plan);
  EXPECT_TRUE(BestOfShapes(c, GpusByRank(runs)).has_value());
}

TEST(RolePlannerTest, NeverIsSaidOnlyWhereTheEmptyFabricHasNoPlace) {
  int never = 0;
  int not_now = 0;
  for (std::uint64_t seed = 0; seed < Rounds(600u); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto below = [&](int n) {
      return static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
    };
    Cluster cluster = MakeCluster({{1 + below(2), 1 + below(2)}});
    for (HostState& host : cluster.hosts) host.free_gpus = 0;
    std::vector<workload::WorkerRun> runs;
    for (int role = 0; role < 3; ++role) runs.push_back({1 + below(3), 1 + below(6)});
    Case c = MakeShapes(std::move(cluster), runs);
    const TopologyLevel levels[] = {TopologyLevel::kSegment, TopologyLevel::kFabricPod};
    c.job.placement.data = {levels[below(2)], workload::Enforcement::kRequired};
    const Outcome outcome = PlanGang(c.cluster, c.request()).outcome;
    ASSERT_NE(outcome, Outcome::kPlaced);
    for (HostState& host : c.cluster.hosts) host.free_gpus = host.gpus;
    if (outcome == Outcome::kNever) {
      EXPECT_FALSE(BestOfShapes(c, GpusByRank(runs)).has_value());
    }
    ++(outcome == Outcome::kNever ? never : not_now);
  }
  EXPECT_GT(never, MoreThan(100));
  EXPECT_GT(not_now, MoreThan(100));
}

TEST(RolePlannerTest, NeverIsProvedByTheSmallestRoleByEachRoleAloneOrByTheSum) {
  // Of 9 workers, whatever they ask for, 8 find a host in a segment.
  Cluster memory = MakeCluster({{8, 8}});
  SetMemory(memory, std::vector<std::int64_t>(16, 100));
  Case smallest = MakeRoles(memory, 9, 2);
  smallest.job.placement.data = {TopologyLevel::kSegment, workload::Enforcement::kRequired};
  EXPECT_EQ(PlanGang(smallest.cluster, smallest.request()).outcome, Outcome::kNever);
  // The launcher fits anywhere, the others in no segment.
  Case alone = MakeShapes(MakeCluster({{4, 4}}), {{1, 1}, {5, 8}});
  alone.job.placement.data = {TopologyLevel::kSegment, workload::Enforcement::kRequired};
  EXPECT_EQ(PlanGang(alone.cluster, alone.request()).outcome, Outcome::kNever);
  // Each finds room without the other.
  const Case sum = MakeShapes(MakeCluster({{4}}), {{1, 1}, {4, 8}});
  EXPECT_EQ(PlanGang(sum.cluster, sum.request()).outcome, Outcome::kNever);
}

}  // namespace
}  // namespace yardmaster::placement
