#include "pkg/placement/solver/capacity.h"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {
namespace {

using WorkersByHost = std::vector<std::int32_t>;

// Two segments of two hosts, and workers of four GPUs.
Case SmallCase() { return MakeCase(MakeCluster({{2, 2}}), MakeJob(4, 1, 1, 2, 1, 4)); }

WorkersByHost CapacityOfHosts(const Case& c, const GangRequest& request,
                              const CapacityView& view = {}) {
  return CapacityFor(c.cluster, request, 1, view).of_host;
}

TEST(CapacityTest, SegmentsAndTheTotalAreSumsOfHostsAndSetsStayWhole) {
  Random random(1);
  for (int round = 0; round < Rounds(500); ++round) {
    const Case c = RandomCase(random, {6, 4, true, true});
    const Capacity single = CapacityFor(c.cluster, c.request(), 1);
    const int set = 1 + static_cast<int>(random.Below(3));
    const Capacity sets = CapacityFor(c.cluster, c.request(), set);
    std::int64_t total = 0;
    for (fabric::SegmentId s : c.cluster.places->segments()) {
      std::int32_t sum = 0;
      for (fabric::HostId h : c.cluster.places->hosts_of(s)) {
        EXPECT_EQ(sets.of_host[h.index()], single.of_host[h.index()] / set * set);
        sum += sets.of_host[h.index()];
      }
      EXPECT_EQ(sets.of_segment[s.index()], sum);
      total += sum;
    }
    EXPECT_EQ(sets.total, total);
  }
}

TEST(CapacityTest, HostsOutOfServiceHaveNoRoomUnlessTheFabricIsImaginedEmpty) {
  Case c = SmallCase();
  c.cluster.hosts[0].unavailable = Unavailability::kCordoned;
  c.cluster.hosts[1].free_gpus = 3;
  c.cluster.hosts[2].free_gpus = 4;
  EXPECT_EQ(CapacityOfHosts(c, c.request()), (WorkersByHost{0, 0, 1, 2}));
  EXPECT_EQ(CapacityOfHosts(c, c.request(), {/*empty=*/true, false}), (WorkersByHost{2, 2, 2, 2}));
}

TEST(CapacityTest, BackupHostsAreUsedOnlyWhereThatIsAskedFor) {
  Case c = SmallCase();
  c.cluster.hosts[1].backup = true;
  c.cluster.hosts[2].backup = true;
  c.cluster.hosts[2].unavailable = Unavailability::kNotReady;
  EXPECT_EQ(CapacityOfHosts(c, c.request()), (WorkersByHost{2, 0, 0, 2}));
  EXPECT_EQ(CapacityOfHosts(c, c.request(), {false, /*use_backup=*/true}),
            (WorkersByHost{2, 2, 0, 2}));
  EXPECT_EQ(CapacityOfHosts(c, c.request(), {true, false}), (WorkersByHost{2, 0, 0, 2}));
  EXPECT_EQ(CapacityOfHosts(c, c.request(), {true, true}), (WorkersByHost{2, 2, 2, 2}));
}

TEST(CapacityTest, AReservedHostIsForItsJobAlone) {
  Case c = SmallCase();
  c.cluster.hosts[0].reserved_for = 7;
  GangRequest request = c.request();
  EXPECT_EQ(CapacityOfHosts(c, request), (WorkersByHost{0, 2, 2, 2}));
  request.queue_index = 8;
  EXPECT_EQ(CapacityOfHosts(c, request), (WorkersByHost{0, 2, 2, 2}));
  request.queue_index = 7;
  EXPECT_EQ(CapacityOfHosts(c, request), (WorkersByHost{2, 2, 2, 2}));
}

TEST(CapacityTest, HostsThatTheTemplateExcludesHaveNoRoomInAnyView) {
  const Case c = SmallCase();
  const std::vector<std::uint8_t> eligible = {1, 0, 0, 1};
  GangRequest request = c.request();
  request.eligible = &eligible;
  for (bool empty : {false, true}) {
    EXPECT_EQ(CapacityOfHosts(c, request, {empty, true}), (WorkersByHost{2, 0, 0, 2}));
  }
}

std::vector<SegmentScore> Scores(const Case& c) {
  return ScoreSegments(c.cluster, CapacityFor(c.cluster, c.request(), 1));
}

TEST(SegmentScoreTest, LoadIsRelativeToTheHighest) {
  Case c = SmallCase();
  EXPECT_EQ(Scores(c)[0].load, 0);
  for (double unit : {1.0, 1e-9, 1e12}) {
    c.cluster.uplink_load = {unit, 4 * unit};
    EXPECT_EQ(Scores(c)[0].load, 250'000) << unit;
    EXPECT_EQ(Scores(c)[1].load, 1'000'000) << unit;
  }
  c.cluster.uplink_load = {0, 0};
  EXPECT_EQ(Scores(c)[1].load, 0);
}

TEST(SegmentScoreTest, ASegmentIsWhollyFreeUntilAnOrdinaryHostInServiceIsUsed) {
  Case c = SmallCase();
  c.cluster.hosts[0].free_gpus = 4;
  c.cluster.hosts[2].free_gpus = 0;
  c.cluster.hosts[2].unavailable = Unavailability::kNotReady;
  c.cluster.hosts[3].free_gpus = 0;
  c.cluster.hosts[3].backup = true;
  EXPECT_EQ(Scores(c)[0].whole_free, 0);
  EXPECT_EQ(Scores(c)[1].whole_free, 1);
  EXPECT_EQ(Scores(c)[0].free_workers, 3);
}

TEST(SegmentScoreTest, ABackupHostCountsWhileItIsInServiceAndFree) {
  Case c = SmallCase();
  HostState& backup = c.cluster.hosts[1];
  EXPECT_EQ(Scores(c)[0].no_backup, 1);
  backup.backup = true;
  EXPECT_EQ(Scores(c)[0].no_backup, 0);
  EXPECT_EQ(Scores(c)[1].no_backup, 1) << "it is for its own segment";
  backup.free_gpus = 7;
  EXPECT_EQ(Scores(c)[0].no_backup, 1);
  backup.free_gpus = 8;
  backup.unavailable = Unavailability::kTainted;
  EXPECT_EQ(Scores(c)[0].no_backup, 1);
}

// Pairs of workers that must share a host, and the hosts that each rank may use.
Capacity CapacityOfPairs(int pairs, const std::vector<HostSet>& hosts_of_rank) {
  Case c = MakeCase(MakeCluster({{static_cast<int>(hosts_of_rank[0].size())}}),
                    MakeJob(8, 1, 1, pairs, 1, 4));
  c.job.placement.tensor = {workload::TopologyLevel::kHost, workload::Enforcement::kRequired};
  std::vector<RoleHosts> roles;
  roles.reserve(hosts_of_rank.size());
  for (const HostSet& hosts : hosts_of_rank) {
    roles.push_back({static_cast<int>(roles.size()), std::make_shared<const HostSet>(hosts)});
  }
  GangRequest request = c.request();
  request.role_hosts = &roles;
  return CapacityFor(c.cluster, request, ModelOf(c.job, c.groups));
}

TEST(CapacityTest, AHostSetCountsTheHostsThatAllItsWorkersMayUse) {
  const Capacity capacity = CapacityOfPairs(2, {{1, 0, 1}, {0, 1, 1}, {0, 1, 1}, {0, 1, 1}});
  EXPECT_EQ(capacity.of_host, (WorkersByHost{0, 2, 2}));
  EXPECT_EQ(capacity.classes.num_classes, 2);
  EXPECT_EQ(capacity.classes.class_of_worker, (std::vector<std::uint8_t>{0, 0, 1, 1}));
  EXPECT_EQ(capacity.classes.of_host, (std::vector<std::uint32_t>{0, 0b10, 0b11}));
}

TEST(CapacityTest, HostSetsThatAllMayUseTheSameHostsAreOfOneClass) {
  const Capacity capacity = CapacityOfPairs(2, {{1, 0, 1}, {0, 1, 1}, {1, 0, 1}, {0, 1, 1}});
  EXPECT_EQ(capacity.of_host, (WorkersByHost{0, 0, 2}));
  EXPECT_FALSE(capacity.classes.any());
}

TEST(CapacityTest, WorkersCountByThemselvesWhereHostSetsMixThemInTooManyWays) {
  for (const int pairs : {32, 33}) {
    std::vector<HostSet> hosts_of_rank;  // each pair another two of nine
    for (std::size_t a = 0; a < 9; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        for (const std::size_t closed : {a, b}) {
          hosts_of_rank.emplace_back(10, 1)[closed] = 0;
        }
      }
    }
    hosts_of_rank.resize(std::size_t{2} * static_cast<std::size_t>(pairs));
    const Capacity capacity = CapacityOfPairs(pairs, hosts_of_rank);
    EXPECT_EQ(capacity.classes.num_classes, pairs == 32 ? 32 : 9);
    EXPECT_EQ(capacity.of_host, WorkersByHost(10, 2));
  }
}

TEST(SegmentScoreTest, DegradedHostsCountWithTheRoomOnThem) {
  Case c = SmallCase();
  c.cluster.hosts[0].degraded = c.cluster.hosts[1].degraded = true;
  c.cluster.hosts[1].free_gpus = 4;
  EXPECT_EQ(Scores(c)[0].degraded, 3);
  c.cluster.hosts[1].degraded = 4;
  EXPECT_EQ(Scores(c)[0].degraded, 6) << "by the ports that are down";
  EXPECT_EQ(Scores(c)[1].degraded, 0);
}

TEST(SegmentScoreTest, ScoresAreAddedPartByPart) {
  SegmentScore sum{1, 2, 3, 4, 5};
  sum += {10, 20, 30, 40, 50};
  EXPECT_EQ(sum, (SegmentScore{11, 22, 33, 44, 55}));
}

}  // namespace
}  // namespace yardmaster::placement
