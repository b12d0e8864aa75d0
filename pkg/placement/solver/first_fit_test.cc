#include "pkg/placement/solver/first_fit.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/solver/capacity.h"
#include "pkg/placement/solver/piece_problem.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"

namespace yardmaster::placement {
namespace {

struct Fitted {
  GangModel model;
  Capacity capacity;
  std::vector<int> segment_of_worker;
};

Fitted FirstFitOf(const Case& c) {
  Fitted out{ModelOf(c.job, c.groups), {}, {}};
  out.capacity = CapacityFor(c.cluster, c.request(), out.model.host_set_size);
  out.segment_of_worker =
      FitFirst(*c.cluster.places, out.model, StagesOf(out.model, c.groups, out.model.atoms),
               out.capacity.of_segment);
  return out;
}

// What breaks a limit when each segment is one large host, which no limit inside hosts parts.
std::string FaultsOf(const Case& c, const std::vector<int>& segment_of_worker) {
  Case open = c;
  open.job.requests.clear();
  for (HostState& host : open.cluster.hosts) {
    host = HostState();
    host.gpus = host.free_gpus = 2048;
  }
  std::vector<fabric::HostId> hosts;
  for (int s : segment_of_worker) {
    hosts.push_back(c.cluster.places->hosts_of(fabric::SegmentId(s))[0]);
  }
  return Faults(open, hosts);
}

TEST(FirstFitTest, WhatItFindsKeepsEveryLimitAndHasRoom) {
  Random random(1);
  int found = 0;
  for (int round = 0; round < Rounds(1500); ++round) {
    const Case c = round % 3 == 0 ? IrregularCase(random) : RandomCase(random, {12, 5});
    const Fitted fit = FirstFitOf(c);
    if (fit.segment_of_worker.empty()) continue;
    ++found;
    std::vector<std::int32_t> room = fit.capacity.of_segment;
    for (int s : fit.segment_of_worker) ASSERT_GE(--room[static_cast<std::size_t>(s)], 0);
    ASSERT_EQ(FaultsOf(c, fit.segment_of_worker), "") << Describe(c);
  }
  EXPECT_GT(found, MoreThan(300));
}

// All atoms, and all pod sets, of a gang have one size (gang_planner_test.cc).
TEST(FirstFitTest, WithoutALimitOfStagesItFindsAPlacementWheneverThereIsOne) {
  Random random(2);
  int none = 0;
  for (int round = 0; round < Rounds(1500); ++round) {
    Case c = round % 2 == 0 ? WideCase(random) : RandomCase(random, {7, 5});
    c.job.placement.max_stages_per_segment = 0;
    const bool found = !FirstFitOf(c).segment_of_worker.empty();
    ASSERT_EQ(found, FindBetter(c, std::nullopt).has_value()) << Describe(c);
    none += !found;
  }
  EXPECT_GT(none, MoreThan(200));
}

TEST(FirstFitTest, StagesGatherWhereSegmentsMayHoldFewOfThem) {
  // Two stages of four workers on three segments: one stage fills a segment, the other has the
  // rest.
  Case c = MakeCase(MakeCluster({{4, 2, 2}}), MakeJob(8, 1, 1, 4, 2));
  c.job.placement.max_stages_per_segment = 1;
  const Fitted fit = FirstFitOf(c);
  EXPECT_EQ(fit.segment_of_worker, (std::vector<int>{0, 0, 0, 0, 1, 1, 2, 2}));
}

}  // namespace
}  // namespace yardmaster::placement
