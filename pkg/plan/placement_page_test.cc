// The examples of docs/placement.md and docs/queue.md that take more than one gang: replacement,
// the pool, the queue, lent spares, preemption.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/backup_pool.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using placement::Outcome;
using placement::ReasonCode;
using placement::Unavailability;

PlanOptions Options(int preemptions = 0) {
  PlanOptions options;
  options.policies = {ReplaceLostRanks(), StopOthers(preemptions)};
  return options;
}

std::vector<int> HostsOf(const placement::GangPlan& gang) {
  std::vector<int> hosts;
  for (HostId host : gang.host_of_rank) hosts.push_back(host.value);
  return hosts;
}

std::vector<HostId> Hosts(int first, int count) {
  std::vector<HostId> hosts;
  for (int i = 0; i < count; ++i) hosts.push_back(HostId(first + i));
  return hosts;
}

// Where the ranks of job 0 go whose hosts are NotReady; empty: they wait.
std::vector<int> Replaced(Snapshot s, const std::vector<int>& lost) {
  s.jobs[0].lost_ranks = lost;
  for (int rank : lost) {
    s.cluster.hosts[s.jobs[0].assignment->host_of_rank[rank].index()].unavailable =
        Unavailability::kNotReady;
  }
  return HostsOf(Of(MakePlan(s, Options()), JobId(0)).gang);
}

TEST(PlacementPageTest, ALostHostIsReplacedInItsSegmentFirst) {
  // h0 h1 h2, backup h3 | h4 h5 h6, backup h7: the job is on h0 and h1.
  fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 4);
  Snapshot s = MakeSnapshot(spec);
  AddJob(s, "a", 2);
  Place(s, JobId(0), Hosts(0, 2));
  EXPECT_EQ(Replaced(s, {0}), (std::vector<int>{3, 1}));
  EXPECT_EQ(Replaced(s, {0, 1}), (std::vector<int>{3, 2}));  // borrowInSegment
  spec.backup.borrow_in_segment = false;
  Snapshot strict = MakeSnapshot(spec);
  strict.jobs = s.jobs;
  strict.cluster = s.cluster;
  EXPECT_EQ(Replaced(strict, {0}), (std::vector<int>{3, 1}));
  EXPECT_TRUE(Replaced(strict, {0, 1}).empty());
  // borrowInFabricPod: h2 is busy, so one host of the next segment steps in.
  spec.backup.borrow_in_segment = spec.backup.borrow_in_fabric_pod = true;
  Snapshot wide = MakeSnapshot(spec);
  wide.jobs = s.jobs;
  wide.cluster = s.cluster;
  wide.cluster.hosts[2].free_gpus = 0;
  EXPECT_EQ(Replaced(wide, {0, 1}), (std::vector<int>{3, 4}));
}

TEST(PlacementPageTest, ThePoolRefills) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 1, 10);
  spec.backup.which = fabric::BackupWhich::kChosen;
  spec.backup.hosts_per_segment = 2;
  Snapshot s = MakeSnapshot(spec);
  for (placement::HostState& host : s.cluster.hosts) host.backup = false;
  AddJob(s, "a", 8);
  Place(s, JobId(0), Hosts(0, 8));
  EXPECT_EQ(PoolOf(s), (std::vector<int>{8, 9}));
  // h1 fails, h8 steps in.
  s.cluster.hosts[1].unavailable = Unavailability::kNotReady;
  s.cluster.hosts[1].free_gpus = 8;
  s.cluster.hosts[8].free_gpus = 0;
  s.jobs[0].assignment->host_of_rank[1] = HostId(8);
  EXPECT_THAT(PoolOf(s), testing::Contains(9));
  EXPECT_THAT(PoolOf(s), testing::Not(testing::Contains(1)));
  // h1 is repaired.
  s.cluster.hosts[1].unavailable = Unavailability::kNo;
  EXPECT_EQ(PoolOf(s), (std::vector<int>{1, 9}));
  // The gang ends.
  s.jobs.clear();
  for (placement::HostState& host : s.cluster.hosts) host.free_gpus = 8;
  EXPECT_EQ(PoolOf(s), (std::vector<int>{8, 9}));
}

TEST(PlacementPageTest, APoolMayBeAShareOfTheSegment) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 1, 10);
  spec.backup.which = fabric::BackupWhich::kChosen;
  spec.backup.hosts_per_segment = 0;
  spec.backup.ratio = 0.25;
  EXPECT_EQ(PoolOf(MakeSnapshot(spec)), (std::vector<int>{7, 8, 9}));
}

TEST(PlacementPageTest, SparesAreLentToPreemptibleJobsAndTakenBack) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 1, 4);  // h3 is the backup
  spec.backup.lend_to_preemptible = true;
  spec.backup.borrow_in_segment = false;
  Snapshot s = MakeSnapshot(spec);
  AddJob(s, "big", 3);
  Place(s, JobId(0), Hosts(0, 3));
  AddJob(s, "guest", 1);
  EXPECT_EQ(Of(MakePlan(s, Options()), JobId(1)).gang.outcome, Outcome::kNotNow);
  s.jobs[1].job.preemptible = true;
  const Plan lent = MakePlan(s, Options());
  EXPECT_EQ(HostsOf(Of(lent, JobId(1)).gang), std::vector<int>{3});
  EXPECT_TRUE(Of(lent, JobId(1)).uses_backup);
  Place(s, JobId(1), {HostId(3)});
  s.cluster.hosts[0].unavailable = Unavailability::kNotReady;
  s.jobs[0].lost_ranks = {0};
  EXPECT_EQ(PlanTakeBack(s, JobId(0))->victims, std::vector<JobId>{JobId(1)});
}

// Four hosts: two run until 200 s, "big" has reserved all four.
Snapshot Queue() {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 5));
  s.now_ms = 100'000;
  JobState& running = AddJob(s, "running", 2);
  running.started_ms = 0;
  running.job.run_seconds = 200;
  Place(s, JobId(0), {HostId(1), HostId(2)});
  AddJob(s, "big", 4).job.reserve_after_ms = 60'000;
  return s;
}

TEST(PlacementPageTest, AReservedPlaceIsFilledOnlyByWhoDoesNotDelayIt) {
  Snapshot s = Queue();
  AddJob(s, "small", 2).job.created_ms = 5;
  const Plan waits = MakePlan(s, Options());
  EXPECT_EQ(Of(waits, JobId(2)).gang.reasons[0].message,
            "waits for its turn: it would fit with 2 hosts kept for default/big, which goes first");
  s.jobs[2].job.run_seconds = 100;  // ends at 200 s
  EXPECT_EQ(Of(MakePlan(s, Options()), JobId(2)).gang.outcome, Outcome::kPlaced);
  s.jobs[2].job.run_seconds = 101;
  EXPECT_EQ(Of(MakePlan(s, Options()), JobId(2)).gang.outcome, Outcome::kNotNow);
  s.jobs[2].job.preemptible = true;
  EXPECT_EQ(Of(MakePlan(s, Options()), JobId(2)).gang.outcome, Outcome::kPlaced);
}

TEST(PlacementPageTest, APreemptionSaysWhomItStopsForWhat) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 5));
  JobState& low = AddJob(s, "a", 4);
  low.grace_seconds = 90;
  Place(s, JobId(0), Hosts(0, 4));
  AddJob(s, "urgent", 4).job.priority = 5;
  const Plan plan = MakePlan(s, Options(1));
  ASSERT_TRUE(Of(plan, JobId(1)).preemption);
  EXPECT_EQ(Of(plan, JobId(1)).preemption->why,
            "stops default/a (32 GPUs, priority 0) for 4 hosts in segment p0s0; given 90 s to "
            "write a checkpoint, then back to the queue");
  s.jobs[1].job.may_preempt = false;  // preemptionPolicy: Never
  EXPECT_FALSE(Of(MakePlan(s, Options(1)), JobId(1)).preemption);
  s.jobs[1].job.may_preempt = true;
  s.jobs[0].job.priority = 5;  // never a gang of equal priority
  EXPECT_FALSE(Of(MakePlan(s, Options(1)), JobId(1)).preemption);
  s.jobs[0].job.priority = 0;
  s.budgets.push_back({"default/keep", 3});  // nor more pods than the budget allows
  s.jobs[0].budgets.push_back({0, 4});
  EXPECT_FALSE(Of(MakePlan(s, Options(1)), JobId(1)).preemption);
}

}  // namespace
}  // namespace yardmaster::plan
