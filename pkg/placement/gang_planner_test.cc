#include "pkg/placement/gang_planner.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/gang_model.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"
#include "pkg/placement/worker_need.h"

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
  for (int i = 0; i < Rounds(cases); ++i) {
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

// RoomOf counts worker by worker and resource by resource.
TEST(GangPlannerTest, MatchesBruteForceWhereOtherResourcesAreShort) {
  ExpectOptimalCases(6, 2000, {6, 4, false, true});
  ExpectOptimalCases(7, 400, {5, 4, true, true});
}

TEST(GangPlannerTest, AHostTakesAsManyWorkersAsFitByEveryResource) {
  Random random(8);
  int workers = 0, more = 0;
  for (int round = 0; round < Rounds(2000); ++round) {
    const Case c = RandomCase(random, {6, 4, false, true});
    const Capacity capacity = CapacityFor(c.cluster, c.request(), 1);
    for (fabric::HostId host : c.cluster.places->hosts()) {
      ASSERT_EQ(capacity.of_host[host.index()], RoomOf(c, host)) << Describe(c);
      workers += RoomOf(c, host);
      more += c.cluster.hosts[host.index()].free_gpus / c.job.gpus_per_worker - RoomOf(c, host);
    }
  }
  EXPECT_GT(workers, MoreThan(1000));
  EXPECT_GT(more, MoreThan(1000));  // than there would be by GPUs alone
}

TEST(GangPlannerTest, WhatIsTakenAndGivenBackIsAsBefore) {
  Random random(9);
  for (int round = 0; round < Rounds(500); ++round) {
    const Case c = RandomCase(random, {6, 4, false, true});
    const GangPlan plan = PlanGang(c.cluster, c.request(), {20'000, false});
    if (plan.outcome != Outcome::kPlaced) continue;
    Case after = c;
    MoveOccupation(after.cluster, c.job, {}, plan.host_of_rank);
    for (fabric::HostId host : plan.host_of_rank) {
      const auto ranks = std::count(plan.host_of_rank.begin(), plan.host_of_rank.end(), host);
      ASSERT_EQ(RoomOf(after, host), RoomOf(c, host) - ranks) << Describe(c);
    }
    ReleaseHosts(after.cluster, c.job, plan.host_of_rank);
    ASSERT_EQ(after.cluster.hosts, c.cluster.hosts);
    ASSERT_EQ(after.cluster.resources.free, c.cluster.resources.free);
  }
}

TEST(GangPlannerTest, NothingBetterExistsOnWideFabrics) {
  Random random(5);
  int placed = 0, split = 0;
  for (int round = 0; round < Rounds(600); ++round) {
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
  EXPECT_GT(placed, MoreThan(300));
  EXPECT_GT(split, MoreThan(60));
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

TEST(GangPlannerTest, TensorGroupsShareAHostWhereThatCostsNothing) {
  // Two GPUs are free on each host of the first segment, the second is free: it is the only one
  // where the pairs of workers stay on their hosts.
  Case c = MakeCase(MakeCluster({{4, 2}}), MakeJob(4, 1, 1, 2, 1, 2));
  for (int h = 0; h < 4; ++h) c.cluster.hosts[static_cast<std::size_t>(h)].free_gpus = 2;
  GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.host_of_rank, std::vector<fabric::HostId>(4, fabric::HostId(4)));
  // Nothing demands it: without those hosts the pairs are parted.
  c.cluster.hosts[4].free_gpus = c.cluster.hosts[5].free_gpus = 0;
  plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.host_of_rank[3], fabric::HostId(3));
}

TEST(GangPlannerTest, SegmentsWithoutDegradedHostsComeFirst) {
  Case c = MakeCase(MakeCluster({{4, 4}}), MakeJob(8, 1, 1, 4, 1));
  c.cluster.hosts[2].degraded = true;
  EXPECT_EQ(SegmentOf(c), "p0s11");
}

// Indivisible pieces have one size in a gang, for any parallelism: so hosts and
// segments are filled without a knapsack.
TEST(GangPlannerTest, ClassesOfWorkersHaveEqualSizes) {
  Random random(17);
  for (int round = 0; round < Rounds(400); ++round) {
    const Case c = round % 4 == 0 ? IrregularCase(random) : RandomCase(random, {40, 4, true});
    const GangModel model = ModelOf(c.job, c.groups);
    EXPECT_GT(model.host_set_size, 0) << Describe(c);
    for (const Partition* classes :
         {&model.host_sets, &model.atoms, &model.units, &model.components, &model.pod_sets}) {
      for (int size : classes->size) ASSERT_EQ(size, classes->size[0]) << Describe(c);
    }
  }
}

// How often stages that follow each other lie in different places of a level.
template <typename PlaceOf>
int Borders(const Case& c, const GangPlan& plan, PlaceOf place_of) {
  int borders = 0;
  for (std::size_t stage = 1; stage < c.groups.workers_of_stage.size(); ++stage) {
    const auto first = [&](std::size_t s) {
      return plan.host_of_rank[static_cast<std::size_t>(c.groups.workers_of_stage[s][0])];
    };
    borders += place_of(first(stage - 1)) != place_of(first(stage));
  }
  return borders;
}

TEST(GangPlannerTest, PipelineNeighboursAreNearEachOther) {
  Random random(18);
  int several = 0;
  for (int round = 0; round < Rounds(300); ++round) {
    std::vector<std::vector<int>> shape(1 + random.Below(3));
    for (auto& pod : shape) {
      pod.resize(1 + random.Below(4));
      for (int& hosts : pod) hosts = 2 + static_cast<int>(random.Below(8));
    }
    Case c = MakeCase(MakeCluster(shape), MakeJob(8, 1, 1, 1 + static_cast<int>(random.Below(4)),
                                                  2 + static_cast<int>(random.Below(6))));
    c.job.placement.data = {workload::TopologyLevel::kSegment, workload::Enforcement::kRequired};
    c.job.placement.max_stages_per_segment = static_cast<int>(random.Below(4));
    const GangPlan plan = PlanGang(c.cluster, c.request());
    if (plan.outcome != Outcome::kPlaced) continue;
    const fabric::Places& places = *c.cluster.places;
    // Every segment and every fabric pod is entered once.
    EXPECT_EQ(Borders(c, plan, [&](fabric::HostId h) { return places.segment_of(h); }) + 1,
              plan.objective.segments)
        << Describe(c);
    EXPECT_EQ(Borders(c, plan, [&](fabric::HostId h) { return places.fabric_pod_of(h); }) + 1,
              plan.objective.fabric_pods)
        << Describe(c);
    several += plan.objective.segments > 1;
  }
  EXPECT_GT(several, MoreThan(100));
}

TEST(GangPlannerTest, LargeIrregularGangsAreValidAndNotGivenUpWithoutProof) {
  Random random(19);
  int placed = 0;
  for (int round = 0; round < Rounds(150); ++round) {
    const Case c = IrregularCase(random);
    const GangPlan plan = PlanGang(c.cluster, c.request(), {20'000, false});
    if (plan.outcome != Outcome::kPlaced) {
      EXPECT_TRUE(plan.optimal) << Describe(c);
      continue;
    }
    ++placed;
    ASSERT_EQ(Faults(c, plan.host_of_rank), "") << Describe(c);
    ASSERT_LE(plan.bound, plan.objective) << Describe(c);
  }
  EXPECT_GT(placed, MoreThan(50));
}

TEST(GangPlannerTest, StagesAreWholeAndNeighboursNear) {
  Case c = MakeCase(MakeCluster({{4, 4}, {4, 4}}), MakeJob(8, 1, 1, 4, 4));
  const GangPlan plan = PlanGang(c.cluster, c.request());
  for (int rank = 0; rank < 16; ++rank) EXPECT_EQ(plan.host_of_rank[rank].value, rank);
  EXPECT_EQ(plan.objective, (Objective{0, 0, 0, 0, 2, 4}));
}

TEST(GangPlannerTest, TheOrderOfTheInputDoesNotMatter) {
  Random random(31);
  for (int round = 0; round < Rounds(300); ++round) {
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
  for (int round = 0; round < Rounds(1500); ++round) {
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
  EXPECT_GT(cut, MoreThan(20));
}

}  // namespace
}  // namespace yardmaster::placement
