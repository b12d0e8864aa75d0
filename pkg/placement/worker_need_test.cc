#include "pkg/placement/worker_need.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;

Case WithResources(Random& random) { return RandomCase(random, {6, 4, false, true}); }

TEST(WorkerNeedTest, WorkersFitOneByOneUntilTheRoomIsUsedUp) {
  Random random(1);
  int taken = 0;
  for (int round = 0; round < Rounds(300); ++round) {
    Case c = WithResources(random);
    const WorkerNeed need(c.cluster, c.job);
    for (HostId host : c.cluster.places->hosts()) {
      for (int room = need.RoomOn(c.cluster, host); room > 0; --room, ++taken) {
        ASSERT_EQ(need.RoomOn(c.cluster, host), room) << Describe(c);
        need.Take(c.cluster, host);
      }
      ASSERT_EQ(need.RoomOn(c.cluster, host), 0) << Describe(c);
    }
  }
  EXPECT_GT(taken, MoreThan(300));
}

TEST(WorkerNeedTest, AnEmptiedHostHasTheRoomOfAnEmptyOne) {
  Random random(2);
  for (int round = 0; round < Rounds(300); ++round) {
    Case c = WithResources(random);
    const WorkerNeed need(c.cluster, c.job);
    for (HostId host : c.cluster.places->hosts()) {
      const int room = need.RoomOn(c.cluster, host, /*empty=*/true);
      EXPECT_LE(need.RoomOn(c.cluster, host), room);
      EmptyHost(c.cluster, host);
      EXPECT_EQ(need.RoomOn(c.cluster, host), room) << Describe(c);
      const Cluster before = c.cluster;
      need.Give(c.cluster, host);
      EXPECT_EQ(c.cluster.hosts, before.hosts) << "more than the host has";
      EXPECT_EQ(c.cluster.resources.free, before.resources.free) << "more than the host has";
    }
  }
}

TEST(WorkerNeedTest, AHostIsShortOfAResourceExactlyWhereNoWorkerFitsForOtherThanGpus) {
  Random random(3);
  int is_short = 0, enough = 0;
  for (int round = 0; round < Rounds(300); ++round) {
    const Case c = WithResources(random);
    const WorkerNeed besides_gpus(c.cluster, 0, c.job.requests);
    for (HostId host : c.cluster.places->hosts()) {
      const auto shortage = besides_gpus.ShortOf(c.cluster, host, /*empty=*/false);
      ASSERT_EQ(shortage.has_value(), besides_gpus.RoomOn(c.cluster, host) == 0) << Describe(c);
      ++(shortage ? is_short : enough);
      if (!shortage) continue;
      const HostResources& resources = c.cluster.resources;
      EXPECT_LT(resources.free[host.index() * resources.columns() + shortage->column],
                shortage->amount);
      EXPECT_EQ(workload::AmountOf(c.job.requests, (*resources.names)[shortage->column]),
                shortage->amount);
    }
  }
  EXPECT_GT(is_short, MoreThan(100));
  EXPECT_GT(enough, MoreThan(100));
}

TEST(WorkerNeedTest, WhatIsNotCountedTakesNothing) {
  Case c = MakeCase(MakeCluster({{1}}), MakeJob(8, 1, 1, 1, 1));
  const WorkerNeed need(c.cluster, 0, {{"cpu", 5}});  // the cluster counts GPUs alone
  EXPECT_EQ(need.RoomOn(c.cluster, HostId(0)), 1024);
  const Cluster before = c.cluster;
  need.Take(c.cluster, HostId(0));
  EXPECT_EQ(c.cluster.hosts, before.hosts);
}

TEST(WorkerNeedTest, AHostOnWhichMoreIsHeldThanThereIsHasNoRoom) {
  Case c = MakeCase(MakeCluster({{1}}), MakeJob(8, 1, 1, 1, 1));
  const WorkerNeed need(c.cluster, c.job);
  for (int free : {-16, -1, 0, 7}) {
    c.cluster.hosts[0].free_gpus = static_cast<std::int16_t>(free);
    EXPECT_EQ(need.RoomOn(c.cluster, HostId(0)), 0) << free;
  }
}

TEST(NeedsByRankTest, ARoleGoesOnUpToTheNextOne) {
  Case c = MakeCase(MakeCluster({{1}}), MakeJob(8, 1, 1, 5, 1));
  const NeedsByRank alike(c.cluster, c.job);
  for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(alike.of(rank).gpus(), 8);
  c.job.roles = {{0, {}, 8}, {2, {}, 0}, {3, {}, {}}};
  const NeedsByRank needs(c.cluster, c.job);
  const int want[] = {8, 8, 0, 8, 8};  // without a number of its own a role has the job's
  for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(needs.of(rank).gpus(), want[rank]) << rank;
}

std::vector<HostId> SomeHosts(Random& random, const Case& c, int ranks) {
  std::vector<HostId> hosts;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto host = static_cast<std::int32_t>(
        random.Below(static_cast<std::uint64_t>(c.cluster.places->num_hosts()) + 1));
    hosts.push_back(HostId(host - 1));  // -1: none
  }
  return hosts;
}

TEST(MoveOccupationTest, WhateverTheWayTheResultIsWhereTheRanksAre) {
  Random random(4);
  for (int round = 0; round < Rounds(300); ++round) {
    const Case c = WithResources(random);
    const auto first = SomeHosts(random, c, static_cast<int>(random.Below(7)));
    const auto second = SomeHosts(random, c, static_cast<int>(random.Below(7)));
    Cluster moved = c.cluster;
    MoveOccupation(moved, c.job, {}, first);
    MoveOccupation(moved, c.job, first, second);
    Cluster direct = c.cluster;
    MoveOccupation(direct, c.job, {}, second);
    EXPECT_EQ(moved.hosts, direct.hosts);
    EXPECT_EQ(moved.resources.free, direct.resources.free);
    ReleaseHosts(moved, c.job, second);
    EXPECT_EQ(moved.hosts, c.cluster.hosts);
    EXPECT_EQ(moved.resources.free, c.cluster.resources.free);
  }
}

}  // namespace
}  // namespace yardmaster::placement
