// Gangs on fabrics with domains, against brute force.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>

#include "pkg/base/strings.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/replacement.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"

namespace yardmaster::placement {
namespace {

using fabric::DomainId;
using fabric::HostId;
using workload::Enforcement;
using workload::TopologyLevel;

std::string Text(const Objective& o) {
  return StrCat(o.tensor_split_domains, " ", o.tensor_split_fabric_pods, " ",
                o.data_split_fabric_pods, " ", o.tensor_split_segments, " ", o.data_split_segments,
                " ", o.fabric_pods, " ", o.segments, " ", o.domains);
}

struct Seen {
  int placed = 0;
  int split = 0;    // a tensor group over domains
  int several = 0;  // domains
};

void ExpectOptimal(const Case& c, Seen& seen) {
  const std::optional<Objective> best = BruteForce(c);
  const GangPlan plan = PlanGang(c.cluster, c.request(), {5'000'000, false});
  ASSERT_EQ(plan.outcome == Outcome::kPlaced, best.has_value())
      << Describe(c) << (best ? " best " + Text(*best) : "");
  ASSERT_TRUE(plan.optimal) << Describe(c);
  if (!best) return;
  ASSERT_EQ(Text(plan.objective), Text(*best)) << Describe(c);
  ASSERT_EQ(plan.bound, plan.objective) << Describe(c);
  ASSERT_EQ(Faults(c, plan.host_of_rank), "") << Describe(c);
  ASSERT_EQ(Evaluate(*c.cluster.places, c.groups, plan.host_of_rank), *best) << Describe(c);
  ++seen.placed;
  seen.split += best->tensor_split_domains > 0;
  seen.several += best->domains > 1;
}

Seen ExpectOptimalCases(std::uint64_t seed, int cases, const CaseLimits& limits, bool units) {
  Random random(seed);
  Seen seen;
  for (int i = 0; i < Rounds(cases); ++i) {
    Case c = RandomCase(random, limits);
    AddDomains(random, units, c);
    ExpectOptimal(c, seen);
    if (testing::Test::HasFatalFailure()) break;
  }
  return seen;
}

TEST(DomainsTest, MatchBruteForceOnSmallFabrics) {
  const Seen seen = ExpectOptimalCases(1, 1200, {5, 4}, false);
  EXPECT_GT(seen.placed, MoreThan(300));
  EXPECT_GT(seen.split, MoreThan(30));
  EXPECT_GT(seen.several, MoreThan(100));
}

TEST(DomainsTest, MatchBruteForceWithLimitsInsideHosts) {
  ExpectOptimalCases(2, 300, {5, 3, true}, false);
}

TEST(DomainsTest, MatchBruteForceWithUnitsOfHosts) {
  const Seen seen = ExpectOptimalCases(3, 300, {6, 3}, true);
  EXPECT_GT(seen.placed, MoreThan(50));
}

TEST(DomainsTest, NothingBetterExistsOnWideFabrics) {
  Random random(5);
  int placed = 0;
  for (int round = 0; round < Rounds(300); ++round) {
    Case c = WideCase(random);
    AddDomains(random, round % 3 == 0, c);
    const GangPlan plan = PlanGang(c.cluster, c.request(), {5'000'000, false});
    ASSERT_TRUE(plan.optimal) << Describe(c);
    if (plan.outcome != Outcome::kPlaced) {
      ASSERT_FALSE(FindBetter(c, std::nullopt)) << Describe(c);
      continue;
    }
    ++placed;
    ASSERT_EQ(Faults(c, plan.host_of_rank), "") << Describe(c);
    ASSERT_FALSE(FindBetter(c, plan.objective)) << Describe(c);
  }
  EXPECT_GT(placed, MoreThan(150));
}

// Segments of `domains` domains of `hosts` hosts of 4 GPUs, one fabric pod.
Cluster DomainFabric(int segments, int domains, int hosts) {
  std::vector<fabric::HostPlace> places;
  for (int s = 0; s < segments; ++s) {
    for (int d = 0; d < domains; ++d) {
      for (int h = 0; h < hosts; ++h) {
        fabric::HostPlace place;
        place.segment = StrCat("s", 100 + s);
        place.fabric_pod = "p";
        place.domain = StrCat(place.segment, "d", 100 + d);
        place.name = StrCat(place.domain, "h", 100 + h);
        places.push_back(std::move(place));
      }
    }
  }
  Cluster cluster;
  cluster.places = std::make_shared<const fabric::Places>(fabric::Places::Build(places).value());
  cluster.hosts.resize(places.size());
  for (HostState& host : cluster.hosts) host.gpus = host.free_gpus = 4;
  return cluster;
}

void Take(Case& c, DomainId domain, int hosts) {
  for (int h = 0; h < hosts; ++h) {
    c.cluster.hosts[c.cluster.places->hosts_of(domain)[h].index()].free_gpus = 0;
  }
}

std::map<int, int> HostsByDomain(const Case& c, const GangPlan& plan) {
  std::map<int, int> hosts;
  for (HostId host : plan.host_of_rank) ++hosts[c.cluster.places->domain_of(host).value];
  return hosts;
}

TEST(DomainsTest, ATensorGroupGoesToAFreeDomainAndNotOverTwo) {
  // 2 segments of 4 domains of 18 hosts; 16 hosts of the first domain are held.
  Case c = MakeCase(DomainFabric(2, 4, 18), MakeJob(16, 1, 1, 4, 1, 4));
  Take(c, DomainId(0), 16);
  const GangPlan plan = PlanGang(c.cluster, c.request());
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_TRUE(plan.optimal);
  EXPECT_EQ(Text(plan.objective), "0 0 0 0 0 1 1 1");
  EXPECT_EQ(HostsByDomain(c, plan), (std::map<int, int>{{1, 16}}));
}

TEST(DomainsTest, TheTightestDomainsAreFilledFirst) {
  Case c = MakeCase(DomainFabric(1, 4, 6), MakeJob(4, 1, 1, 3, 1, 4));
  Take(c, DomainId(2), 2);
  Take(c, DomainId(3), 3);
  EXPECT_EQ(HostsByDomain(c, PlanGang(c.cluster, c.request())), (std::map<int, int>{{3, 3}}));
}

TEST(DomainsTest, AnotherSegmentIsTakenWhereTheGangNeedsFewerDomainsThere) {
  // The first segment is tighter, but no domain of it has room for all.
  Case c = MakeCase(DomainFabric(2, 2, 4), MakeJob(4, 1, 1, 4, 1, 4));
  Take(c, DomainId(0), 1);
  Take(c, DomainId(1), 1);
  EXPECT_EQ(HostsByDomain(c, PlanGang(c.cluster, c.request())), (std::map<int, int>{{2, 4}}));
}

TEST(DomainsTest, ExpertGroupsStayInsideDomains) {
  // Four stages of one expert group of 16 hosts each.
  const Case c = MakeCase(DomainFabric(1, 4, 18), MakeJob(1, 1, 64, 64, 4, 4));
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(Text(plan.objective), "0 0 0 0 0 1 1 4");
  for (std::size_t rank = 0; rank < plan.host_of_rank.size(); ++rank) {
    EXPECT_EQ(c.cluster.places->domain_of(plan.host_of_rank[rank]).value,
              static_cast<int>(rank / 16));
  }
}

TEST(DomainsTest, AGroupLargerThanADomainLiesInAsFewAsItCan) {
  const Case c = MakeCase(DomainFabric(2, 4, 18), MakeJob(128, 1, 1, 2, 1, 4));
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_TRUE(plan.optimal);
  EXPECT_EQ(plan.objective.tensor_split_domains, 2);
}

TEST(DomainsTest, AUnitTakesSoManyHostsOfEachDomainForConsecutiveRanks) {
  Case c = MakeCase(DomainFabric(2, 4, 18), MakeJob(4, 1, 1, 48, 1, 4));
  c.job.placement.domain_unit = 16;
  Take(c, DomainId(1), 3);  // 15 hosts are too few
  const GangPlan plan = PlanGang(c.cluster, c.request());
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(HostsByDomain(c, plan), (std::map<int, int>{{0, 16}, {2, 16}, {3, 16}}));
  for (std::size_t rank = 0; rank < plan.host_of_rank.size(); ++rank) {
    EXPECT_EQ(c.cluster.places->domain_of(plan.host_of_rank[rank]),
              c.cluster.places->domain_of(plan.host_of_rank[rank / 16 * 16]));
  }
}

TEST(DomainsTest, WhatUnitsLackIsCountedByDomain) {
  Case c = MakeCase(DomainFabric(2, 2, 4), MakeJob(4, 1, 1, 12, 1, 4));
  c.job.placement.domain_unit = 4;
  Take(c, DomainId(0), 1);
  Take(c, DomainId(1), 2);
  const GangPlan late = PlanGang(c.cluster, c.request());
  EXPECT_EQ(late.outcome, Outcome::kNotNow);
  EXPECT_EQ(late.reasons.at(0).message,
            "1 host short in domain s100d100: there is room for 2 of 3 units of hosts that each "
            "need 4 in one domain");
  // Also of a gang that is smaller than its unit.
  Case few = MakeCase(DomainFabric(1, 2, 4), MakeJob(4, 1, 1, 2, 1, 4));
  few.job.placement.domain_unit = 6;
  const GangPlan never = PlanGang(few.cluster, few.request());
  EXPECT_EQ(never.outcome, Outcome::kNever);
  EXPECT_EQ(never.reasons.at(0).message,
            "2 hosts short in domain s100d100: a unit of hosts needs 6 in one domain and no domain "
            "has more than 4 in all");
}

TEST(DomainsTest, WorkersThatSharedAHostLeaveTheirDomainTogether) {
  Case c = MakeCase(DomainFabric(1, 3, 1), MakeJob(2, 1, 1, 2, 1, 2));
  c.cluster.hosts[1].free_gpus = 2;  // takes one of the two, and is the tightest
  c.cluster.hosts[0].unavailable = Unavailability::kNotReady;
  const GangPlan plan =
      ReplaceHosts(c.cluster, c.request(), {HostId(0), HostId(0)}, {0, 1}, {1, true, false, false});
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.host_of_rank, (std::vector<HostId>{HostId(2), HostId(2)}));
  c.cluster.hosts[2].free_gpus = 2;
  const GangPlan parted =
      ReplaceHosts(c.cluster, c.request(), {HostId(0), HostId(0)}, {0, 1}, {1, true, false, false});
  ASSERT_EQ(parted.outcome, Outcome::kPlaced);
  EXPECT_EQ(parted.host_of_rank, (std::vector<HostId>{HostId(1), HostId(2)}));
}

TEST(DomainsTest, AGroupThatMustLieInADomainWaitsForOne) {
  Case c = MakeCase(DomainFabric(1, 2, 4), MakeJob(16, 1, 1, 1, 1, 4));
  c.job.placement.tensor = {TopologyLevel::kDomain, Enforcement::kRequired};
  Take(c, DomainId(0), 1);
  Take(c, DomainId(1), 1);
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNotNow);
  ASSERT_FALSE(plan.reasons.empty());
  EXPECT_EQ(plan.reasons[0].level, TopologyLevel::kDomain);
  EXPECT_EQ(plan.reasons[0].message,
            "1 host short in domain s100d100: a tensor group needs 4 in one domain and no domain "
            "has more than 3 free");
  EXPECT_THAT(plan.relaxations,
              testing::Contains(
                  testing::Field(&Relaxation::change, "placement: {tensor: {within: Segment}}")));
  c.job.placement.tensor.mode = Enforcement::kPreferred;
  EXPECT_EQ(PlanGang(c.cluster, c.request()).objective.tensor_split_domains, 1);
}

TEST(DomainsTest, WithoutDomainsALimitWithinDomainIsOneWithinHost) {
  Case c = MakeCase(MakeCluster({{4}}), MakeJob(16, 1, 1, 1, 1));
  c.job.placement.tensor = {TopologyLevel::kDomain, Enforcement::kRequired};
  EXPECT_EQ(PlanGang(c.cluster, c.request()).outcome, Outcome::kNever);
}

TEST(DomainsTest, TheOrderOfTheInputDoesNotMatter) {
  Random random(31);
  for (int round = 0; round < Rounds(200); ++round) {
    Case c = RandomCase(random, {8, 6, true});
    AddDomains(random, false, c);
    const GangPlan want = PlanGang(c.cluster, c.request());
    std::vector<fabric::HostPlace> hosts;
    const fabric::Places& places = *c.cluster.places;
    for (HostId h : places.hosts()) {
      fabric::HostPlace place;
      place.name = places.name(h);
      place.fabric_pod = places.name(places.fabric_pod_of(h));
      place.segment = places.name(places.segment_of(h));
      place.domain = places.name(places.domain_of(h));
      if (place.domain == place.name) place.domain.clear();
      hosts.push_back(std::move(place));
    }
    random.Shuffle(hosts);
    Case shuffled = c;
    shuffled.cluster.places =
        std::make_shared<const fabric::Places>(fabric::Places::Build(hosts).value());
    for (HostId h : shuffled.cluster.places->hosts()) {
      ASSERT_EQ(places.FindHost(shuffled.cluster.places->name(h)), h);
    }
    for (auto* family : {&shuffled.groups.tensor, &shuffled.groups.expert}) {
      random.Shuffle(*family);
    }
    const GangPlan got = PlanGang(shuffled.cluster, shuffled.request());
    ASSERT_EQ(got.outcome, want.outcome);
    ASSERT_EQ(got.reasons, want.reasons);
    ASSERT_EQ(got.relaxations, want.relaxations);
    ASSERT_EQ(got.host_of_rank, want.host_of_rank);
  }
}

// A gang of two tensor groups of four hosts in the two domains of six of a segment; the last host
// of each domain is a backup.
struct Running {
  Case c;
  std::vector<HostId> hosts;

  explicit Running(Enforcement tensor = Enforcement::kPreferred, int domains = 2)
      : c(MakeCase(DomainFabric(1, domains, 6), MakeJob(16, 1, 1, 2, 1, 4))) {
    c.job.placement.tensor = {TopologyLevel::kDomain, tensor};
    for (DomainId domain : c.cluster.places->domains()) {
      c.cluster.hosts[c.cluster.places->hosts_of(domain)[5].index()].backup = true;
    }
    hosts = PlanGang(c.cluster, c.request()).host_of_rank;
    for (HostId host : hosts) c.cluster.hosts[host.index()].free_gpus = 0;
  }
  GangPlan Lose(const std::vector<int>& ranks) {
    for (int rank : ranks) {
      c.cluster.hosts[hosts[static_cast<std::size_t>(rank)].index()].unavailable =
          Unavailability::kNotReady;
    }
    return ReplaceHosts(c.cluster, c.request(), hosts, ranks, {1, true, false, false});
  }
};

std::vector<int> Numbers(const std::vector<HostId>& hosts) {
  std::vector<int> out;
  for (HostId host : hosts) out.push_back(host.value);
  return out;
}

TEST(DomainsTest, LostRanksGoToTheSpareAndThenToOrdinaryHostsOfTheirDomain) {
  Running running;
  ASSERT_THAT(Numbers(running.hosts), testing::ElementsAre(0, 1, 2, 3, 6, 7, 8, 9));
  EXPECT_THAT(Numbers(running.Lose({4}).host_of_rank),
              testing::ElementsAre(0, 1, 2, 3, 11, 7, 8, 9));
  EXPECT_THAT(Numbers(running.Lose({4, 5}).host_of_rank),
              testing::ElementsAre(0, 1, 2, 3, 11, 10, 8, 9));
}

TEST(DomainsTest, ARankLeavesItsDomainOnlyWhereItsGroupMayBeParted) {
  const GangPlan parted = Running().Lose({4, 5, 6});
  ASSERT_EQ(parted.outcome, Outcome::kPlaced);
  EXPECT_THAT(Numbers(parted.host_of_rank), testing::ElementsAre(0, 1, 2, 3, 11, 10, 5, 9));
  EXPECT_EQ(parted.objective.tensor_split_domains, 1);
  const GangPlan waits = Running(Enforcement::kRequired).Lose({4, 5, 6});
  EXPECT_EQ(waits.outcome, Outcome::kNotNow);
  ASSERT_FALSE(waits.reasons.empty());
  EXPECT_EQ(waits.reasons[0].level, TopologyLevel::kDomain);
  EXPECT_EQ(waits.reasons[0].count, 1);
}

TEST(DomainsTest, AGroupThatLosesItsDomainMovesToAnotherAsAWhole) {
  for (const Enforcement tensor : {Enforcement::kRequired, Enforcement::kPreferred}) {
    Running running(tensor, 3);
    for (const int host : {4, 5}) {
      running.c.cluster.hosts[static_cast<std::size_t>(host)].unavailable =
          Unavailability::kNotReady;
    }
    const GangPlan plan = running.Lose({0, 1, 2, 3});
    ASSERT_EQ(plan.outcome, Outcome::kPlaced);
    EXPECT_THAT(Numbers(plan.host_of_rank), testing::ElementsAre(17, 12, 13, 14, 6, 7, 8, 9));
    EXPECT_EQ(plan.objective.tensor_split_domains, 0);
  }
}

// As on a fabric of the size of the largest that was published, with every sixth host held.
TEST(DomainsTest, LargeGangsOnBusyFabricsAreValid) {
  Random random(41);
  for (int round = 0; round < Rounds(40); ++round) {
    Case c = MakeCase(DomainFabric(6, 8, 18),
                      MakeJob(4 << random.Below(5), 1, 1 << random.Below(5), 64, 2, 4));
    for (HostState& host : c.cluster.hosts) {
      if (random.Below(6) == 0) host.free_gpus = 0;
    }
    const GangPlan plan = PlanGang(c.cluster, c.request(), {20'000, false});
    if (plan.outcome != Outcome::kPlaced) continue;
    ASSERT_EQ(Faults(c, plan.host_of_rank), "") << Describe(c);
    ASSERT_LE(plan.bound, plan.objective) << Describe(c);
    ASSERT_EQ(plan.objective, Evaluate(*c.cluster.places, c.groups, plan.host_of_rank));
  }
}

}  // namespace
}  // namespace yardmaster::placement
