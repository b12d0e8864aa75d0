// Gangs whose ranks may use different hosts.
#include "pkg/placement/role_hosts.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/placement/alike_planner.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/partial_planner.h"
#include "pkg/placement/replacement.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;
using workload::Enforcement;
using workload::TopologyLevel;

std::shared_ptr<const HostSet> Set(HostSet hosts) {
  return std::make_shared<const HostSet>(std::move(hosts));
}

struct RoleCase {
  Case c;
  std::vector<RoleHosts> roles;
  std::shared_ptr<const HostSet> any;

  GangRequest request() const {
    GangRequest request = c.request();
    request.eligible = any.get();
    request.role_hosts = &roles;
    return request;
  }
  GangPlan Plan() const { return PlanGang(c.cluster, request()); }
};

RoleCase MakeRoleCase(Case c, std::vector<RoleHosts> roles) {
  RoleCase out{std::move(c), std::move(roles), nullptr};
  out.any = HostsOfAny(out.roles);
  return out;
}

// A worker a host.
Case Workers(Cluster cluster, int workers, TopologyLevel data = TopologyLevel::kFabricPod) {
  Case c = MakeCase(std::move(cluster), MakeJob(8, 1, 1, workers, 1));
  c.job.placement.data = {data, Enforcement::kRequired};
  return c;
}

bool Holds(const RoleCase& c, const std::vector<HostId>& hosts) {
  const GangRequest request = c.request();
  std::vector<int> given(c.c.cluster.hosts.size(), 0);
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (!request.AllowsRank(hosts[rank], static_cast<int>(rank))) return false;
    if (++given[hosts[rank].index()] > RoomOf(c.c, hosts[rank])) return false;
  }
  return hosts.size() < static_cast<std::size_t>(c.c.job.workers) || Faults(c.c, hosts).empty();
}

std::optional<Objective> Least(const RoleCase& c) {
  return LeastObjective(c.c, [&](const std::vector<HostId>& hosts) { return Holds(c, hosts); });
}

TEST(RoleHostsTest, ARankHasTheHostsOfTheRunThatItIsIn) {
  const auto some = Set({0, 1});
  const std::vector<RoleHosts> roles = {{0, nullptr}, {2, some}};
  EXPECT_EQ(HostsOfRank(roles, 1), nullptr);
  EXPECT_EQ(HostsOfRank(roles, 2), some.get());
  EXPECT_EQ(HostsOfRank(roles, 9), some.get());
  EXPECT_EQ(RoleHostsAmong(roles, {1, 3, 4}), (std::vector<RoleHosts>{{0, nullptr}, {1, some}}));
}

TEST(RoleHostsTest, EveryRankGetsAHostThatItsOwnPodMayUse) {
  const RoleCase c = MakeRoleCase(Workers(MakeCluster({{2, 4}}), 3),
                                  {{0, Set({0, 0, 0, 0, 1, 0})}, {1, Set({1, 1, 1, 1, 0, 1})}});
  const GangPlan plan = c.Plan();
  ASSERT_EQ(plan.outcome, Outcome::kPlaced) << Sentence(plan);
  EXPECT_EQ(plan.host_of_rank, (std::vector<HostId>{HostId(4), HostId(2), HostId(3)}));
  EXPECT_TRUE(plan.optimal);
}

// Each order of the roles would take hosts away from the other.
TEST(RoleHostsTest, HostsThatSeveralRolesMayUseAreSharedOut) {
  const RoleCase c = MakeRoleCase(Workers(MakeCluster({{13}}), 11),
                                  {{0, Set({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0})},
                                   {6, Set({1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1})}});
  const GangPlan plan = c.Plan();
  ASSERT_EQ(plan.outcome, Outcome::kPlaced) << Sentence(plan);
  EXPECT_TRUE(Holds(c, plan.host_of_rank));
}

TEST(RoleHostsTest, NeverNamesTheRanksWhoseHostsAreTooFew) {
  const RoleCase c = MakeRoleCase(Workers(MakeCluster({{4}}), 3),
                                  {{0, Set({1, 1, 1, 0})}, {1, Set({0, 0, 0, 1})}});
  const GangPlan plan = c.Plan();
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  EXPECT_NE(Sentence(plan).find(
                "1 host short for ranks 1 to 2: 2 hosts needed, 1 that the pods may use in all"),
            std::string::npos)
      << Sentence(plan);
}

TEST(RoleHostsTest, ARoleWhoseHostsAreHeldWaits) {
  RoleCase c = MakeRoleCase(Workers(MakeCluster({{4}}), 2),
                            {{0, Set({1, 0, 0, 0})}, {1, Set({0, 1, 1, 1})}});
  c.c.cluster.hosts[0].free_gpus = 0;
  const GangPlan plan = c.Plan();
  EXPECT_EQ(plan.outcome, Outcome::kNotNow);
  EXPECT_NE(Sentence(plan).find("1 host short for rank 0"), std::string::npos) << Sentence(plan);
}

TEST(RoleHostsTest, ALostHostIsReplacedByOneThatTheRanksRoleMayUse) {
  const RoleCase c = MakeRoleCase(Workers(MakeCluster({{5}}), 2),
                                  {{0, Set({1, 0, 0, 0, 1})}, {1, Set({0, 1, 1, 1, 0})}});
  fabric::BackupPolicy policy;
  policy.borrow_in_segment = true;
  const GangPlan plan = ReplaceHosts(c.c.cluster, c.request(), {HostId(0), HostId(1)}, {0}, policy);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.host_of_rank[0], HostId(4));
}

TEST(RoleHostsTest, RanksThatAreAddedGetHostsOfTheirRole) {
  const RoleCase c = MakeRoleCase(Workers(MakeCluster({{5}}), 3),
                                  {{0, Set({1, 1, 1, 0, 0})}, {2, Set({0, 0, 0, 0, 1})}});
  const GangPlan plan = GrowGang(c.c.cluster, c.request(), {HostId(0), HostId(1)}, {},
                                 [](const std::vector<HostId>&) { return absl::OkStatus(); });
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.host_of_rank[2], HostId(4));
}

// Workers that share hosts, groups that must share one among them.
TEST(RoleHostsTest, RanksThatMustShareAHostGetOneThatAllOfThemMayUse) {
  Case c = MakeCase(MakeCluster({{3}}), MakeJob(8, 1, 1, 1, 1, 4));
  c.job.placement.tensor = {TopologyLevel::kHost, Enforcement::kRequired};
  const RoleCase roles = MakeRoleCase(c, {{0, Set({1, 0, 1})}, {1, Set({0, 1, 1})}});
  const GangPlan plan = roles.Plan();
  ASSERT_EQ(plan.outcome, Outcome::kPlaced) << Sentence(plan);
  EXPECT_EQ(plan.host_of_rank, (std::vector<HostId>{HostId(2), HostId(2)}));
}

// The first workers of `first_gpus` GPUs, the others of `other_gpus`; tensor groups of `tensor`.
Case WorkersOfTwoSizes(Cluster cluster, int firsts, int first_gpus, int others, int other_gpus,
                       int tensor) {
  Case c;
  c.cluster = std::move(cluster);
  c.job = MakeJob(tensor, 1, 1, (firsts * first_gpus + others * other_gpus) / tensor, 1);
  c.job.workers = firsts + others;
  c.job.gpus_per_worker = std::max(first_gpus, other_gpus);
  if (first_gpus != other_gpus) c.job.roles = {{0, {}, first_gpus}, {firsts, {}, other_gpus}};
  c.groups = workload::GroupsOf(c.job);
  return c;
}

bool AreTogether(const std::vector<workload::WorkerGroup>& groups,
                 const workload::GroupPolicy& policy, const fabric::Places& places,
                 const std::vector<HostId>& hosts) {
  if (policy.mode != Enforcement::kRequired) return true;
  const auto place_of = [&](HostId host) {
    return policy.within == TopologyLevel::kHost        ? host.value
           : policy.within == TopologyLevel::kSegment   ? places.segment_of(host).value
           : policy.within == TopologyLevel::kFabricPod ? places.fabric_pod_of(host).value
                                                        : 0;
  };
  return std::all_of(groups.begin(), groups.end(), [&](const workload::WorkerGroup& group) {
    return std::all_of(group.workers.begin(), group.workers.end(), [&](int worker) {
      const auto placed = [&](int w) { return static_cast<std::size_t>(w) < hosts.size(); };
      return !placed(worker) || place_of(hosts[static_cast<std::size_t>(worker)]) ==
                                    place_of(hosts[static_cast<std::size_t>(group.workers[0])]);
    });
  });
}

// As Holds, of workers with different numbers of GPUs.
bool HoldsBySize(const RoleCase& c, const std::vector<HostId>& hosts) {
  std::vector<int> given(c.c.cluster.hosts.size(), 0);
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const HostId host = hosts[rank];
    if (!host.valid() || !c.request().AllowsRank(host, static_cast<int>(rank))) return false;
    given[host.index()] += c.c.job.GpusOf(static_cast<int>(rank));
    if (given[host.index()] > c.c.cluster.hosts[host.index()].free_gpus) return false;
  }
  const fabric::Places& places = *c.c.cluster.places;
  return AreTogether(c.c.groups.tensor, c.c.job.placement.tensor, places, hosts) &&
         AreTogether(c.c.groups.data, c.c.job.placement.data, places, hosts);
}

TEST(RoleHostsTest, AWorkerLeavesTheOnlyHostThatASetOfTwoMayUse) {
  Case c = WorkersOfTwoSizes(MakeCluster({{2}}), 1, 4, 2, 2, 4);
  c.job.placement.tensor = {TopologyLevel::kHost, Enforcement::kRequired};
  const RoleCase roles = MakeRoleCase(c, {{0, nullptr}, {1, Set({1, 0})}});
  const GangPlan alike = PlanAlike(roles.c.cluster, roles.request(), {});
  ASSERT_EQ(alike.outcome, Outcome::kPlaced) << Sentence(alike);
  EXPECT_EQ(alike.host_of_rank, (std::vector<HostId>{HostId(1), HostId(0), HostId(0)}));
  const GangPlan plan = roles.Plan();
  ASSERT_EQ(plan.outcome, Outcome::kPlaced) << Sentence(plan);
  EXPECT_EQ(plan.host_of_rank.size(), 3u);
  EXPECT_TRUE(HoldsBySize(roles, plan.host_of_rank));
}

// Host sets of two workers of four GPUs; rank 0 may use `first`, the others `rest`.
RoleCase PairsOnHosts(Cluster cluster, HostSet first, HostSet rest) {
  Case c = MakeCase(std::move(cluster), MakeJob(8, 1, 1, 2, 1, 4));
  c.job.placement.tensor = {TopologyLevel::kHost, Enforcement::kRequired};
  return MakeRoleCase(std::move(c), {{0, Set(std::move(first))}, {1, Set(std::move(rest))}});
}

TEST(RoleHostsTest, ASegmentCountsOnlyHostsThatAllWorkersOfASetMayUse) {
  // The first segment has room for each rank, and no host for ranks 0 and 1 together.
  const RoleCase c =
      PairsOnHosts(MakeCluster({{3, 4}}), {1, 0, 0, 1, 1, 0, 0}, {0, 1, 1, 1, 1, 1, 1});
  for (const GangPlan& plan : {PlanAlike(c.c.cluster, c.request(), {}), c.Plan()}) {
    ASSERT_EQ(plan.outcome, Outcome::kPlaced) << Sentence(plan);
    EXPECT_TRUE(Holds(c, plan.host_of_rank));
    EXPECT_EQ(plan.objective.segments, 1);
    EXPECT_TRUE(plan.optimal);
  }
}

TEST(RoleHostsTest, NeverNamesTheRanksThatMustShareAHostAndMayUseNone) {
  const GangPlan plan = PairsOnHosts(MakeCluster({{3}}), {1, 0, 0}, {0, 1, 1}).Plan();
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  EXPECT_NE(Sentence(plan).find("1 host short for ranks 0 to 1: 1 host needed, 0 that"),
            std::string::npos)
      << Sentence(plan);
}

TEST(RoleHostsTest, SetsOfUnequalSizeThatFindNoHostsSayThatAndNotThatASearchWasCut) {
  // Room for a set of one and two of two by number, on no three hosts as they are.
  Case c = WorkersOfTwoSizes(MakeCluster({{3}}), 1, 4, 4, 2, 4);
  c.job.placement.tensor = {TopologyLevel::kHost, Enforcement::kRequired};
  c.cluster.hosts[0].free_gpus = c.cluster.hosts[1].free_gpus = 4;
  c.cluster.hosts[2].gpus = c.cluster.hosts[2].free_gpus = 12;
  const RoleCase roles = MakeRoleCase(c, {{0, nullptr}, {1, Set({1, 1, 1})}});
  const GangPlan alike = PlanAlike(roles.c.cluster, roles.request(), {});
  EXPECT_EQ(alike.outcome, Outcome::kNotNow);
  EXPECT_FALSE(alike.optimal);
  EXPECT_NE(Sentence(alike).find("workers that must share a host found none there"),
            std::string::npos)
      << Sentence(alike);
  EXPECT_EQ(Sentence(alike).find("cut after"), std::string::npos);
}

// Several workers a host, of one size or of two, in sets that must share one or not.
RoleCase RandomSharedHosts(Random& random) {
  const auto below = [&](int n) {
    return static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
  };
  Cluster cluster = below(2) == 0 ? MakeCluster({{1 + below(3), 1 + below(2)}})
                                  : MakeCluster({{1 + below(2)}, {1 + below(2), 1}});
  for (HostState& host : cluster.hosts) {
    if (below(4) == 0) host.free_gpus = static_cast<std::int16_t>(4 * below(2));
  }
  const int sizes[][2] = {{2, 2}, {4, 4}, {4, 2}, {2, 4}, {8, 2}};
  const auto [first_gpus, other_gpus] = sizes[below(5)];
  const int firsts = first_gpus == 2 ? 2 : 1 + below(2);
  const int others = other_gpus == 2 ? 2 * (1 + below(2)) : 1 + below(3);
  Case c = WorkersOfTwoSizes(std::move(cluster), firsts, first_gpus, others, other_gpus, 4);
  const TopologyLevel levels[] = {TopologyLevel::kHost, TopologyLevel::kHost,
                                  TopologyLevel::kSegment, TopologyLevel::kFabricPod};
  c.job.placement.tensor = {levels[below(4)], Enforcement::kRequired};
  c.job.placement.data = {levels[2 + below(2)],
                          below(2) == 0 ? Enforcement::kPreferred : Enforcement::kRequired};
  std::vector<RoleHosts> roles;
  for (int first = 0; first < c.job.workers; first += 1 + below(3)) {
    HostSet hosts(c.cluster.hosts.size(), 0);
    for (std::uint8_t& open : hosts) open = below(3) == 0 ? 0 : 1;
    roles.push_back({first, below(3) == 0 ? nullptr : Set(std::move(hosts))});
  }
  return MakeRoleCase(std::move(c), std::move(roles));
}

TEST(RoleHostsTest, WorkersThatShareHostsAgreeWithExhaustiveSearch) {
  int placed = 0, differ = 0, missed = 0, never = 0;
  for (std::uint64_t seed = 0; seed < Rounds(800u); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    RoleCase c = RandomSharedHosts(random);
    const auto holds = [&](const std::vector<HostId>& hosts) { return HoldsBySize(c, hosts); };
    const std::optional<Objective> least = LeastObjective(c.c, holds);
    const bool sizes_differ = c.c.job.gpus_differ();
    for (const GangPlan& plan : {PlanAlike(c.c.cluster, c.request(), {}), c.Plan()}) {
      if (plan.outcome != Outcome::kPlaced) continue;
      ASSERT_EQ(plan.host_of_rank.size(), static_cast<std::size_t>(c.c.job.workers));
      ASSERT_TRUE(HoldsBySize(c, plan.host_of_rank));
      EXPECT_GE(plan.objective, *least);
    }
    const GangPlan plan = c.Plan();
    placed += plan.outcome == Outcome::kPlaced ? 1 : 0;
    differ += plan.outcome == Outcome::kPlaced && sizes_differ ? 1 : 0;
    never += plan.outcome == Outcome::kNever ? 1 : 0;
    missed += plan.outcome != Outcome::kPlaced && least ? 1 : 0;
    EXPECT_TRUE(plan.outcome != Outcome::kPlaced || !plan.optimal || plan.objective == *least);
    if (!sizes_differ) {
      ASSERT_EQ(plan.outcome == Outcome::kPlaced, least.has_value()) << Sentence(plan);
      EXPECT_TRUE(plan.optimal);
    }
    if (plan.outcome == Outcome::kPlaced) continue;
    for (HostState& host : c.c.cluster.hosts) host.free_gpus = host.gpus;
    const bool fits_empty = LeastObjective(c.c, holds).has_value();
    EXPECT_FALSE(plan.outcome == Outcome::kNever && fits_empty) << Sentence(plan);
    EXPECT_TRUE(sizes_differ || fits_empty == (plan.outcome == Outcome::kNotNow)) << Sentence(plan);
  }
  EXPECT_GT(placed, MoreThan(200));
  EXPECT_GT(differ, MoreThan(100));
  EXPECT_GT(never, MoreThan(50));
  EXPECT_LE(missed, placed / 50);
}

RoleCase RandomRoleCase(Random& random) {
  const auto below = [&](int n) {
    return static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
  };
  Cluster cluster = MakeCluster({{1 + below(3), 1 + below(3)}, {1 + below(3)}});
  for (HostState& host : cluster.hosts) {
    if (below(5) == 0) host.free_gpus = 0;
  }
  const int workers = 2 + below(3);
  const bool stages = workers == 4 && below(2) == 0;
  Case c =
      MakeCase(std::move(cluster), stages ? MakeJob(8, 1, 1, 2, 2) : MakeJob(8, 1, 1, workers, 1));
  const TopologyLevel levels[] = {TopologyLevel::kSegment, TopologyLevel::kFabricPod};
  c.job.placement.data = {levels[below(2)],
                          below(3) == 0 ? Enforcement::kPreferred : Enforcement::kRequired};
  std::vector<RoleHosts> roles;
  for (int first = 0; first < workers; first += 1 + below(2)) {
    HostSet hosts(c.cluster.hosts.size(), 0);
    for (std::uint8_t& open : hosts) open = below(3) == 0 ? 0 : 1;
    roles.push_back({first, below(5) == 0 ? nullptr : Set(std::move(hosts))});
  }
  return MakeRoleCase(std::move(c), std::move(roles));
}

TEST(RoleHostsTest, OnRandomSmallFabricsAgreesWithExhaustiveSearch) {
  int placed = 0;
  int never = 0;
  for (std::uint64_t seed = 0; seed < Rounds(600u); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    RoleCase c = RandomRoleCase(random);
    const GangPlan plan = c.Plan();
    const std::optional<Objective> least = Least(c);
    ASSERT_EQ(plan.outcome == Outcome::kPlaced, least.has_value()) << Describe(c.c);
    if (least) {
      ++placed;
      EXPECT_TRUE(Holds(c, plan.host_of_rank));
      EXPECT_EQ(plan.objective, *least);
      EXPECT_TRUE(plan.optimal);
      continue;
    }
    for (HostState& host : c.c.cluster.hosts) host.free_gpus = host.gpus;
    EXPECT_EQ(plan.outcome == Outcome::kNever, !Least(c).has_value());
    never += plan.outcome == Outcome::kNever ? 1 : 0;
  }
  EXPECT_GT(placed, MoreThan(200));
  EXPECT_GT(never, MoreThan(50));
}

TEST(RoleHostsTest, RolesWithTheSameHostsArePlacedAsIfThereWereOne) {
  for (std::uint64_t seed = 0; seed < Rounds(200u); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Case c = RandomCase(random, {});
    const auto all = Set(HostSet(c.cluster.hosts.size(), 1));
    const RoleCase roles = MakeRoleCase(c, {{0, all}, {1, Set(*all)}});
    const GangPlan one = PlanGang(c.cluster, c.request());
    const GangPlan plan = roles.Plan();
    EXPECT_EQ(plan.host_of_rank, one.host_of_rank);
    EXPECT_EQ(plan.reasons, one.reasons);
    EXPECT_EQ(plan.relaxations, one.relaxations);
  }
}

}  // namespace
}  // namespace yardmaster::placement
