#include "pkg/placement/replacement.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;

// A gang of 4 data ranks of 8 GPUs on the first four hosts of two segments of six, the last host of
// each a backup.
struct Running {
  Case c;
  std::vector<HostId> hosts;
  void Fail(const std::vector<int>& ranks) {
    for (int rank : ranks)
      c.cluster.hosts[hosts[rank].index()].unavailable = Unavailability::kNotReady;
  }
  GangPlan Replace(const std::vector<int>& lost, const fabric::BackupPolicy& policy) const {
    return ReplaceHosts(c.cluster, c.request(), hosts, lost, policy);
  }
};

Running Make(workload::Job job, std::vector<int> backup) {
  Running r{MakeCase(MakeCluster({{6, 6}, {6}}), std::move(job)), {}};
  for (int id : backup) r.c.cluster.hosts[id].backup = true;
  r.hosts = PlanGang(r.c.cluster, r.c.request()).host_of_rank;
  for (HostId host : r.hosts) {
    r.c.cluster.hosts[host.index()].free_gpus -= static_cast<std::int16_t>(r.c.job.gpus_per_worker);
  }
  return r;
}

constexpr fabric::BackupPolicy kBackupOnly{1, false, false, false};
constexpr fabric::BackupPolicy kBorrowInSegment{1, true, false, false};
constexpr fabric::BackupPolicy kBorrowInPod{1, true, true, false};

TEST(ReplacementTest, ABackupHostOfTheSegmentStepsInForRankZero) {
  Running r = Make(MakeJob(8, 1, 1, 4, 1), {5, 11, 17});
  r.Fail({0});
  const GangPlan plan = r.Replace({0}, kBorrowInSegment);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.host_of_rank[0], HostId(5));
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(plan.host_of_rank[rank], r.hosts[rank]);
  EXPECT_EQ(plan.objective.data_split_segments, 0);
  EXPECT_FALSE(plan.optimal) << "no other choice was looked at";
}

TEST(ReplacementTest, AHostThatIsShortOfAResourceDoesNotStepIn) {
  Running r = Make(MakeJob(8, 1, 1, 4, 1), {5, 11, 17});
  r.c.job.requests = {{"cpu", 4}};
  HostResources& resources = r.c.cluster.resources;
  resources.names = std::make_shared<const std::vector<std::string>>(1, "cpu");
  resources.free.assign(r.c.cluster.hosts.size(), 7);
  resources.allocatable = std::make_shared<const std::vector<std::int64_t>>(resources.free);
  resources.free[5] = 3;
  r.Fail({0});
  const GangPlan plan = r.Replace({0}, kBorrowInSegment);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.host_of_rank[0], HostId(4));
}

TEST(ReplacementTest, ThePolicySaysWhatComesAfterTheBackupHosts) {
  Running r = Make(MakeJob(8, 1, 1, 4, 1), {5, 11, 17});
  r.Fail({0, 2});
  const GangPlan waiting = r.Replace({0, 2}, kBackupOnly);
  EXPECT_EQ(waiting.outcome, Outcome::kNotNow);
  EXPECT_TRUE(waiting.host_of_rank.empty());
  ASSERT_EQ(waiting.reasons.size(), 1u);
  EXPECT_EQ(waiting.reasons[0].count, 1);
  ASSERT_FALSE(waiting.relaxations.empty());
  EXPECT_EQ(waiting.relaxations[0].change, "backup.borrowInSegment: true");

  const GangPlan borrowed = r.Replace({2, 0}, kBorrowInSegment);
  ASSERT_EQ(borrowed.outcome, Outcome::kPlaced);
  EXPECT_EQ(borrowed.host_of_rank[0], HostId(5));
  EXPECT_EQ(borrowed.host_of_rank[2], HostId(4));

  r.c.cluster.hosts[4].free_gpus = 0;
  EXPECT_EQ(r.Replace({0, 2}, kBorrowInSegment).outcome, Outcome::kNotNow);
  const GangPlan pod = r.Replace({0, 2}, kBorrowInPod);
  ASSERT_EQ(pod.outcome, Outcome::kPlaced);
  EXPECT_EQ(pod.host_of_rank[2], HostId(6));
  EXPECT_EQ(pod.objective.data_split_segments, 8);
}

TEST(ReplacementTest, AGroupThatMustShareASegmentIsNotTornApart) {
  // Tensor groups of two hosts: ranks 0,1 and 2,3.
  Running r = Make(MakeJob(16, 1, 1, 2, 1), {5, 11, 17});
  for (int id : {4, 5}) r.c.cluster.hosts[id].free_gpus = 0;
  r.Fail({0, 1, 2});
  EXPECT_EQ(r.Replace({2}, kBorrowInPod).outcome, Outcome::kNotNow);
  const GangPlan plan = r.Replace({0, 1}, kBorrowInPod);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.host_of_rank[0], HostId(6));
  EXPECT_EQ(plan.host_of_rank[1], HostId(7));
  EXPECT_EQ(plan.objective.tensor_split_segments, 0);
}

TEST(ReplacementTest, AHostOfTheFabricPodMayBeOneOfTheSegment) {
  const fabric::BackupPolicy pod_alone{1, false, true, false};
  for (const int tensor : {8, 16}) {
    Running r = Make(MakeJob(tensor, 1, 1, 32 / tensor, 1), {5, 11, 17});
    r.c.cluster.hosts[5].free_gpus = 0;
    r.Fail({2});
    const GangPlan plan = r.Replace({2}, pod_alone);
    ASSERT_EQ(plan.outcome, Outcome::kPlaced) << "tensor groups of " << tensor << " GPUs";
    EXPECT_EQ(plan.host_of_rank[2], HostId(4));
  }
}

TEST(ReplacementTest, WorkersThatSharedAHostMoveTogether) {
  Running r = Make(MakeJob(2, 1, 1, 8, 1, 2), {5, 11, 17});
  ASSERT_EQ(r.hosts[0], r.hosts[3]);
  r.Fail({0});
  const GangPlan plan = r.Replace({0, 1, 2, 3}, kBorrowInSegment);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(plan.host_of_rank[rank], HostId(5));
}

TEST(ReplacementTest, AHostThatIsNotThereAnyMoreIsLostToo) {
  Running r = Make(MakeJob(8, 1, 1, 4, 1), {5, 11, 17});
  r.hosts[1] = HostId();
  const GangPlan plan = r.Replace({}, kBorrowInSegment);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.host_of_rank[1], HostId(5));
  r.hosts.assign(4, HostId());
  EXPECT_EQ(r.Replace({}, kBorrowInPod).outcome, Outcome::kNotNow);
}

TEST(ReplacementTest, ARankWithoutAHostGoesWhereTheOthersOfItsGroupAre) {
  workload::Job job = MakeJob(8, 1, 1, 3, 2);
  job.placement.data = {workload::TopologyLevel::kSegment, workload::Enforcement::kRequired};
  const Case free = MakeCase(MakeCluster({{4, 4}}), job);
  Running r{free, {HostId(0), HostId(1), HostId(2), HostId(), HostId(), HostId(6)}};
  for (int id : {0, 1, 2, 6}) r.c.cluster.hosts[id].free_gpus = 0;
  const GangPlan plan = r.Replace({}, kBorrowInSegment);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(Faults(free, plan.host_of_rank), "");
  r.hosts[5] = HostId();  // no rank of the stage has a host: all of it moves
  const GangPlan moved = r.Replace({}, kBorrowInPod);
  ASSERT_EQ(moved.outcome, Outcome::kPlaced);
  EXPECT_EQ(Faults(free, moved.host_of_rank), "");
}

TEST(ReplacementTest, RanksWithoutAHostThatMustShareOneGetOne) {
  workload::Job job = MakeJob(4, 1, 1, 2, 1, 2);
  job.placement.tensor = {workload::TopologyLevel::kHost, workload::Enforcement::kRequired};
  const Case free = MakeCase(MakeCluster({{3}}), job);
  Running r{free, {HostId(0), HostId(0), HostId(), HostId()}};
  r.c.cluster.hosts[0].free_gpus = 4;
  r.c.cluster.hosts[1].free_gpus = 2;
  const GangPlan plan = r.Replace({}, kBorrowInSegment);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(Faults(free, plan.host_of_rank), "");
}

TEST(ReplacementTest, OnlyLostRanksMoveAndLimitsHold) {
  Random random(5);
  int placed = 0;
  for (int round = 0; round < Rounds(2000); ++round) {
    Case c = RandomCase(random, {8, 5, true});
    if (round % 2 == 1) AddDomains(random, /*with_units=*/round % 4 == 1, c);
    const GangPlan before = PlanGang(c.cluster, c.request(), {200'000, false});
    if (before.outcome != Outcome::kPlaced) continue;
    std::vector<int> lost;
    for (int rank = 0; rank < c.job.workers; ++rank) {
      if (random.Below(3) > 0) continue;
      // A host takes all its ranks with it.
      for (int other = 0; other < c.job.workers; ++other) {
        if (before.host_of_rank[other] == before.host_of_rank[rank]) lost.push_back(other);
      }
    }
    Case later = c;
    for (HostId host : before.host_of_rank) {
      later.cluster.hosts[host.index()].free_gpus -=
          static_cast<std::int16_t>(c.job.gpus_per_worker);
    }
    for (int rank : lost) {
      later.cluster.hosts[before.host_of_rank[rank].index()].unavailable =
          Unavailability::kNotReady;
    }
    fabric::BackupPolicy policy = random.Below(2) == 0 ? kBorrowInPod : kBorrowInSegment;
    const GangPlan plan =
        ReplaceHosts(later.cluster, later.request(), before.host_of_rank, lost, policy);
    if (plan.outcome != Outcome::kPlaced) {
      ASSERT_FALSE(plan.reasons.empty());
      continue;
    }
    placed += !lost.empty();
    Case merged = later;  // as if the gang started again where it is
    for (HostState& host : merged.cluster.hosts) host.backup = false;
    for (int rank = 0; rank < c.job.workers; ++rank) {
      const bool is_lost = std::find(lost.begin(), lost.end(), rank) != lost.end();
      ASSERT_EQ(plan.host_of_rank[rank] != before.host_of_rank[rank], is_lost) << Describe(c);
      merged.cluster.hosts[before.host_of_rank[rank].index()].free_gpus +=
          static_cast<std::int16_t>(c.job.gpus_per_worker);
    }
    ASSERT_EQ(Faults(merged, plan.host_of_rank), "") << Describe(c);
  }
  EXPECT_GT(placed, MoreThan(200));
}

// Some host of its old segment for every lost rank from `k` on.
bool SomeReplacement(const Case& open, const Cluster& now, const fabric::BackupPolicy& policy,
                     const std::vector<int>& lost, std::size_t k, std::vector<HostId>& hosts) {
  if (k == lost.size()) return Faults(open, hosts).empty();
  HostId& mine = hosts[static_cast<std::size_t>(lost[k])];
  const HostId before = mine;
  for (HostId id : now.places->hosts_of(now.places->segment_of(before))) {
    const HostState& host = now.hosts[id.index()];
    const bool allowed = host.backup || policy.borrow_in_segment;
    if (!allowed || host.unavailable != Unavailability::kNo || host.reserved_for >= 0) continue;
    mine = id;
    if (SomeReplacement(open, now, policy, lost, k + 1, hosts)) return true;
  }
  mine = before;
  return false;
}

TEST(ReplacementTest, NobodyWaitsWhoseSegmentHasHostsForAll) {
  Random random(8);
  int waiting = 0;
  for (int round = 0; round < Rounds(6000); ++round) {
    Case c = RandomCase(random, {6, 4, true});
    if (round % 2 == 1) AddDomains(random, /*with_units=*/false, c);
    const GangPlan before = PlanGang(c.cluster, c.request(), {200'000, false});
    if (before.outcome != Outcome::kPlaced) continue;
    const HostId first = before.host_of_rank[random.Below(before.host_of_rank.size())];
    const HostId second = before.host_of_rank[random.Below(before.host_of_rank.size())];
    std::vector<int> lost;
    Case later = c;
    for (int rank = 0; rank < c.job.workers; ++rank) {
      const HostId host = before.host_of_rank[static_cast<std::size_t>(rank)];
      later.cluster.hosts[host.index()].free_gpus -=
          static_cast<std::int16_t>(c.job.gpus_per_worker);
      if (host == first || host == second) lost.push_back(rank);
    }
    for (HostId host : {first, second})
      later.cluster.hosts[host.index()].unavailable = Unavailability::kNotReady;
    const fabric::BackupPolicy policy = random.Below(2) == 0 ? kBackupOnly : kBorrowInSegment;
    const GangPlan plan =
        ReplaceHosts(later.cluster, later.request(), before.host_of_rank, lost, policy);
    if (plan.outcome == Outcome::kPlaced) continue;
    ++waiting;
    Case open = c;  // as if the gang started again where it is, backup hosts included
    for (HostState& host : open.cluster.hosts) host.backup = false;
    for (HostId host : {first, second})
      open.cluster.hosts[host.index()].unavailable = Unavailability::kNotReady;
    std::vector<HostId> hosts = before.host_of_rank;
    ASSERT_FALSE(SomeReplacement(open, later.cluster, policy, lost, 0, hosts)) << Describe(c);
  }
  EXPECT_GT(waiting, MoreThan(500));
}

}  // namespace
}  // namespace yardmaster::placement
