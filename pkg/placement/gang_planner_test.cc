#include "pkg/placement/gang_planner.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/placement/testing.h"

namespace yardmaster::placement {
namespace {

std::string Text(const Objective& o) {
  return "(" + std::to_string(o.tensor_split_fabric_pods) + " " +
         std::to_string(o.data_split_fabric_pods) + " " + std::to_string(o.tensor_split_segments) +
         " " + std::to_string(o.data_split_segments) + " " + std::to_string(o.fabric_pods) + " " +
         std::to_string(o.segments) + ")";
}

void ExpectOptimal(const Case& c) {
  const std::optional<Objective> best = BruteForce(c);
  const GangPlan plan = PlanGang(c.cluster, c.request(), {2'000'000, false});
  ASSERT_TRUE(plan.optimal) << Describe(c);
  ASSERT_EQ(plan.outcome == Outcome::kPlaced, best.has_value())
      << Describe(c) << (best ? " best " + Text(*best) : "");
  if (!best) return;
  ASSERT_EQ(Text(plan.objective), Text(*best)) << Describe(c);
  ASSERT_EQ(plan.bound, plan.objective) << Describe(c);
  ASSERT_EQ(Faults(c, plan.host_of_rank), "") << Describe(c);
  ASSERT_EQ(Evaluate(*c.cluster.places, c.groups, plan.host_of_rank), *best) << Describe(c);
}

void ExpectOptimalCases(std::uint64_t seed, int cases, const CaseLimits& limits) {
  Random random(seed);
  for (int i = 0; i < cases; ++i) {
    ExpectOptimal(RandomCase(random, limits));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(GangPlannerTest, MatchesBruteForceOnSmallFabrics) { ExpectOptimalCases(1, 3000, {6, 4}); }

TEST(GangPlannerTest, MatchesBruteForceOnManySegments) { ExpectOptimalCases(2, 1000, {5, 6}); }

TEST(GangPlannerTest, MatchesBruteForceOnLongGangs) { ExpectOptimalCases(3, 400, {10, 3}); }

TEST(GangPlannerTest, MatchesBruteForceWithLimitsInsideHosts) {
  ExpectOptimalCases(4, 400, {5, 4, true});
}

TEST(GangPlannerTest, NothingBetterExistsOnWideFabrics) {
  Random random(5);
  int placed = 0, split = 0;
  for (int round = 0; round < 600; ++round) {
    const Case c = WideCase(random);
    const GangPlan plan = PlanGang(c.cluster, c.request(), {2'000'000, false});
    ASSERT_TRUE(plan.optimal) << Describe(c);
    if (plan.outcome != Outcome::kPlaced) {
      ASSERT_FALSE(FindBetter(c, std::nullopt)) << Describe(c);
      continue;
    }
    ++placed;
    split += plan.objective.segments > 1;
    ASSERT_EQ(Faults(c, plan.host_of_rank), "") << Describe(c);
    ASSERT_FALSE(FindBetter(c, plan.objective)) << Describe(c);
  }
  EXPECT_GT(placed, 300);
  EXPECT_GT(split, 60);
}

// Segment of the gang's first rank.
std::string SegmentOf(const Case& c) {
  const GangPlan plan = PlanGang(c.cluster, c.request());
  if (plan.outcome != Outcome::kPlaced) return "none";
  return c.cluster.places->name(c.cluster.places->segment_of(plan.host_of_rank[0]));
}

TEST(GangPlannerTest, SmallGangsFillTheTightestSegment) {
  Case c = MakeCase(MakeCluster({{8, 6, 8}}), MakeJob(8, 1, 1, 2, 1));
  c.cluster.hosts[14].free_gpus = 0;  // the third segment is in use, with room for 7
  EXPECT_EQ(SegmentOf(c), "p0s12");
  c.cluster.hosts[0].free_gpus = c.cluster.hosts[1].free_gpus = 0;  // the first has room for 6
  EXPECT_EQ(SegmentOf(c), "p0s10");
}

TEST(GangPlannerTest, LoadOfUplinksComesBeforeFragmentation) {
  Case c = MakeCase(MakeCluster({{4, 4, 4, 4}}), MakeJob(8, 1, 1, 4, 2));
  c.cluster.uplink_load = {5, 1, 3, 1};
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.host_of_rank[0], fabric::HostId(4));
  EXPECT_EQ(plan.host_of_rank[7], fabric::HostId(15));
}

TEST(GangPlannerTest, HealthyHostsComeBeforeDegradedOnes) {
  Case c = MakeCase(MakeCluster({{4}}), MakeJob(8, 1, 1, 2, 1));
  c.cluster.hosts[0].degraded = true;
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.host_of_rank, (std::vector{fabric::HostId(1), fabric::HostId(2)}));
}

TEST(GangPlannerTest, SmallWorkersFillTheTightestHostsAndKeepTensorGroupsTogether) {
  Case c = MakeCase(MakeCluster({{4}}), MakeJob(4, 1, 1, 2, 1, 2));  // two tensor pairs
  c.cluster.hosts[1].free_gpus = 2;
  c.cluster.hosts[2].free_gpus = 4;
  const GangPlan plan = PlanGang(c.cluster, c.request());
  // The pair fits the host with four GPUs; the other goes to a free host, never apart.
  EXPECT_EQ(plan.host_of_rank, (std::vector{fabric::HostId(2), fabric::HostId(2), fabric::HostId(0),
                                            fabric::HostId(0)}));
}

TEST(GangPlannerTest, StagesAreWholeAndNeighboursNear) {
  Case c = MakeCase(MakeCluster({{4, 4}, {4, 4}}), MakeJob(8, 1, 1, 4, 4));
  const GangPlan plan = PlanGang(c.cluster, c.request());
  for (int rank = 0; rank < 16; ++rank) EXPECT_EQ(plan.host_of_rank[rank].value, rank);
  EXPECT_EQ(plan.objective, (Objective{0, 0, 0, 0, 2, 4}));
}

TEST(GangPlannerTest, TheOrderOfTheInputDoesNotMatter) {
  Random random(31);
  for (int round = 0; round < 300; ++round) {
    const Case c = RandomCase(random, {8, 6, true});
    const GangPlan want = PlanGang(c.cluster, c.request());
    // The same hosts, listed in another order, are the same places; states follow the names.
    std::vector<fabric::HostPlace> hosts;
    const fabric::Places& places = *c.cluster.places;
    for (fabric::HostId h : places.hosts()) {
      hosts.push_back({places.name(h),
                       places.name(places.fabric_pod_of(h)),
                       places.name(places.segment_of(h)),
                       {}});
    }
    random.Shuffle(hosts);
    Case shuffled = c;
    shuffled.cluster.places =
        std::make_shared<const fabric::Places>(fabric::Places::Build(hosts).value());
    for (fabric::HostId h : shuffled.cluster.places->hosts()) {
      shuffled.cluster.hosts[h.index()] =
          c.cluster.hosts[places.FindHost(shuffled.cluster.places->name(h)).index()];
    }
    for (auto* family : {&shuffled.groups.tensor, &shuffled.groups.context, &shuffled.groups.expert,
                         &shuffled.groups.data}) {
      random.Shuffle(*family);
    }
    const GangPlan got = PlanGang(shuffled.cluster, shuffled.request());
    ASSERT_EQ(got.outcome, want.outcome);
    ASSERT_EQ(got.reasons, want.reasons);
    ASSERT_EQ(got.relaxations, want.relaxations);
    ASSERT_EQ(got.host_of_rank.size(), want.host_of_rank.size());
    for (std::size_t r = 0; r < got.host_of_rank.size(); ++r) {
      ASSERT_EQ(shuffled.cluster.places->name(got.host_of_rank[r]),
                places.name(want.host_of_rank[r]));
    }
  }
}

TEST(GangPlannerTest, ACutSearchSaysSoAndHowFarTheBoundIs) {
  Random random(41);
  int cut = 0;
  for (int round = 0; round < 1500; ++round) {
    const Case c = RandomCase(random, {8, 5});
    const GangPlan exact = PlanGang(c.cluster, c.request(), {5'000'000, false});
    const GangPlan quick = PlanGang(c.cluster, c.request(), {12, false});
    ASSERT_TRUE(exact.optimal);
    if (quick.optimal) {
      ASSERT_EQ(quick.outcome, exact.outcome);
      ASSERT_EQ(quick.objective, exact.objective);
      continue;
    }
    ++cut;
    ASSERT_EQ(quick.reasons[0].code, ReasonCode::kSearchCut);
    if (quick.outcome != Outcome::kPlaced) continue;
    ASSERT_LE(quick.bound, exact.objective) << Describe(c);
    ASSERT_LE(exact.objective, quick.objective) << Describe(c);
  }
  EXPECT_GT(cut, 20);
}

}  // namespace
}  // namespace yardmaster::placement
