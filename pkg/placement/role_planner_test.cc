#include "pkg/placement/role_planner.h"

#include <functional>
#include <gtest/gtest.h>
#include <optional>

#include "pkg/base/random.h"
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

// The least objective over all placements.
std::optional<Objective> Best(const Case& c) {
  std::optional<Objective> best;
  std::vector<HostId> hosts;
  const std::function<void()> search = [&] {
    if (hosts.size() == static_cast<std::size_t>(c.job.workers)) {
      if (!Holds(c, hosts)) return;
      const Objective objective = Evaluate(*c.cluster.places, c.groups, hosts);
      if (!best || objective < *best) best = objective;
      return;
    }
    for (HostId host : c.cluster.places->hosts()) {
      hosts.push_back(host);
      search();
      hosts.pop_back();
    }
  };
  search();
  return best;
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
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
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
  EXPECT_GT(placed, 100);
  EXPECT_GT(refused, 50);
  EXPECT_EQ(best, placed) << "roles are not searched together, yet on these fabrics it is enough";
}

}  // namespace
}  // namespace yardmaster::placement
