#include "pkg/placement/solver/fit_counter.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"

namespace yardmaster::placement {
namespace {

using workload::Enforcement;
using workload::TopologyLevel;

bool CannotFit(const Case& c) {
  const GangModel model = ModelOf(c.job, c.groups);
  return FitCounter(*c.cluster.places, model, c.groups)
      .CannotFit(CapacityFor(c.cluster, c.request(), model.host_set_size));
}

bool AllEqual(const Partition& classes) {
  return std::all_of(classes.size.begin(), classes.size.end(),
                     [&](int size) { return size == classes.size[0]; });
}

TEST(FitCounterTest, CountingNeverContradictsExhaustiveSearch) {
  Random random(61);
  int none = 0, decided = 0;
  for (int round = 0; round < Rounds(2500); ++round) {
    const Case c = round % 2 == 0 ? WideCase(random) : RandomCase(random, {7, 5});
    const GangModel model = ModelOf(c.job, c.groups);
    const bool fits =
        PlanGang(c.cluster, c.request(), {2'000'000, false}).outcome == Outcome::kPlaced;
    if (CannotFit(c)) {
      ASSERT_FALSE(FindBetter(c, std::nullopt)) << Describe(c);
      ++none;
    } else if (AllEqual(model.atoms) && AllEqual(model.pod_sets) &&
               model.max_stages_per_segment == 0) {
      ASSERT_TRUE(fits) << Describe(c);
      ++decided;
    }
  }
  EXPECT_GT(none, MoreThan(200));
  EXPECT_GT(decided, MoreThan(500));
}

TEST(FitCounterTest, LargeGangsAreRefusedWithoutASearch) {
  // Two stages of 40 hosts, data groups Required in fabric pods of 60 of which 39 are free; tensor
  // groups of two hosts that are only Preferred would make a search of 80 pieces.
  Case c = MakeCase(MakeCluster({{20, 20, 20}, {20, 20, 20}}), MakeJob(16, 1, 1, 20, 2));
  c.job.placement.tensor = {TopologyLevel::kSegment, Enforcement::kPreferred};
  for (std::size_t h = 0; h < c.cluster.hosts.size(); ++h) {
    if (h % 60 < 21) c.cluster.hosts[h].free_gpus = 0;
  }
  const GangPlan plan = PlanGang(c.cluster, c.request(), {1000, false});
  EXPECT_EQ(plan.outcome, Outcome::kNotNow);
  for (const Reason& reason : plan.reasons) EXPECT_NE(reason.code, ReasonCode::kSearchCut);
}

TEST(FitCounterTest, WhatCountingAllowsIsPlacedHoweverShortTheSearch) {
  Random random(62);
  int placed = 0;
  for (int round = 0; round < Rounds(1500); ++round) {
    const Case c = WideCase(random);
    const GangModel model = ModelOf(c.job, c.groups);
    if (!AllEqual(model.atoms) || !AllEqual(model.pod_sets) || model.max_stages_per_segment > 0 ||
        CannotFit(c)) {
      continue;
    }
    const GangPlan plan = PlanGang(c.cluster, c.request(), {1, false});
    ASSERT_EQ(plan.outcome, Outcome::kPlaced) << Describe(c);
    ASSERT_EQ(Faults(c, plan.host_of_rank), "") << Describe(c);
    ASSERT_FALSE(plan.optimal ? FindBetter(c, plan.objective) : FindBetter(c, plan.bound))
        << Describe(c);
    ++placed;
  }
  EXPECT_GT(placed, MoreThan(500));
}

TEST(FitCounterTest, StagesThatShareNoSegmentCoverSegmentsOfTheirOwn) {
  // Room for 30 hosts, but only three stages of eight can be covered: 5+5, 5+5, 5+5.
  Case c = MakeCase(MakeCluster({{5, 5, 5, 5, 5, 5}}), MakeJob(8, 1, 1, 8, 3));
  c.job.placement.max_stages_per_segment = 1;
  EXPECT_FALSE(CannotFit(c));
  Case four = MakeCase(MakeCluster({{5, 5, 5, 5, 5, 5, 5}}), MakeJob(8, 1, 1, 8, 4));
  EXPECT_FALSE(CannotFit(four));
  four.job.placement.max_stages_per_segment = 1;
  EXPECT_TRUE(CannotFit(four));
}

}  // namespace
}  // namespace yardmaster::placement
