#include "pkg/plan/backup_pool.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/placement/replacement.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/preemption.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using placement::Outcome;
using placement::Unavailability;

// One segment of ten hosts, none marked, two to be chosen.
Snapshot Chosen(double ratio = 0, bool lend = false) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 1, 10);
  spec.backup.which = fabric::BackupWhich::kChosen;
  spec.backup.hosts_per_segment = ratio > 0 ? 0 : 2;
  spec.backup.ratio = ratio;
  spec.backup.lend_to_preemptible = lend;
  Snapshot s = MakeSnapshot(spec);
  for (placement::HostState& host : s.cluster.hosts) host.backup = false;
  return s;
}

TEST(BackupPoolTest, CountOrRatioButNeverTheWholeSegment) {
  fabric::BackupPolicy policy;
  policy.hosts_per_segment = 8;
  EXPECT_EQ(BackupHostsOf(policy, 136, 136), 8);
  EXPECT_EQ(BackupHostsOf(policy, 135, 136), 8);  // a Node less changes nothing
  EXPECT_EQ(BackupHostsOf(policy, 68, 136), 4);   // half built
  EXPECT_EQ(BackupHostsOf(policy, 4, 136), 0);
  EXPECT_EQ(BackupHostsOf(policy, 5, 5), 4);
  policy.hosts_per_segment = 0;
  policy.ratio = 0.05;
  EXPECT_EQ(BackupHostsOf(policy, 20, 20), 1);
  EXPECT_EQ(BackupHostsOf(policy, 21, 20), 2);
  EXPECT_EQ(BackupHostsOf(policy, 1, 20), 0);
}

TEST(BackupPoolTest, TheHighestFreeHostsAreChosenAndStayWhenOthersFail) {
  Snapshot s = Chosen();
  EXPECT_EQ(PoolOf(s), (std::vector<int>{8, 9}));
  EXPECT_EQ(PoolOf(Chosen(0.3)), (std::vector<int>{7, 8, 9}));
  AddJob(s, "a", 4);
  Place(s, JobId(0), {HostId(0), HostId(1), HostId(2), HostId(3)});
  for (int down : {1, 5})
    s.cluster.hosts[static_cast<std::size_t>(down)].unavailable = Unavailability::kNotReady;
  EXPECT_EQ(PoolOf(s), (std::vector<int>{8, 9}));
  s.cluster.hosts[9].unavailable = Unavailability::kCordoned;
  EXPECT_EQ(PoolOf(s), (std::vector<int>{7, 8}));
}

TEST(BackupPoolTest, MarkedHostsComeFirstAndWithoutThePolicyAlone) {
  Snapshot s = Chosen();
  s.cluster.hosts[2].backup = true;
  EXPECT_EQ(PoolOf(s), (std::vector<int>{2, 9}));
  for (int marked : {3, 4}) s.cluster.hosts[static_cast<std::size_t>(marked)].backup = true;
  EXPECT_EQ(PoolOf(s), (std::vector<int>{2, 3, 4}));
  fabric::FabricSpec spec = fabric::SmallHpn(1, 1, 10);
  Snapshot marked = MakeSnapshot(spec);
  EXPECT_EQ(PoolOf(marked), (std::vector<int>{9}));
}

// One segment of four domains of five hosts, of which each keeps `per_domain`.
Snapshot InDomains(int per_domain, int per_segment) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 1, 20);
  spec.backup.which = fabric::BackupWhich::kChosen;
  spec.backup.hosts_per_segment = per_segment;
  spec.scale_up.hosts_per_domain = 5;
  spec.scale_up.backup_hosts_per_domain = per_domain;
  Snapshot s = MakeSnapshot(spec);
  std::vector<fabric::HostPlace> places;
  for (HostId host : s.places->hosts()) {
    places.push_back({s.places->name(host),
                      s.places->name(s.places->fabric_pod_of(host)),
                      s.places->name(s.places->segment_of(host)),
                      {}});
    places.back().domain = StrCat("d", host.value / 5);
  }
  s.places = std::make_shared<const fabric::Places>(fabric::Places::Build(places).value());
  s.cluster.places = s.places;
  for (placement::HostState& host : s.cluster.hosts) host.backup = false;
  return s;
}

TEST(BackupPoolTest, EachDomainKeepsItsOwnAndTheSegmentWhatIsMissing) {
  Snapshot s = InDomains(1, 0);
  EXPECT_EQ(PoolOf(s), (std::vector<int>{4, 9, 14, 19}));
  s.cluster.hosts[9].free_gpus = 0;
  s.cluster.hosts[14].unavailable = Unavailability::kNotReady;
  EXPECT_EQ(PoolOf(s), (std::vector<int>{4, 8, 13, 19}));
  EXPECT_EQ(PoolOf(InDomains(1, 6)), (std::vector<int>{4, 9, 14, 17, 18, 19}));
  EXPECT_EQ(PoolOf(InDomains(2, 3)), (std::vector<int>{3, 4, 8, 9, 13, 14, 18, 19}));
  Snapshot marked = InDomains(1, 0);
  marked.cluster.hosts[0].backup = true;
  EXPECT_EQ(PoolOf(marked), (std::vector<int>{0, 9, 14, 19}));
}

TEST(BackupPoolTest, ADomainThatIsNotFullyBuiltKeepsFewerAndNeverAll) {
  fabric::ScaleUp scale_up;
  scale_up.hosts_per_domain = 18;
  scale_up.backup_hosts_per_domain = 2;
  EXPECT_EQ(BackupHostsOf(scale_up, 18), 2);
  EXPECT_EQ(BackupHostsOf(scale_up, 17), 2);
  EXPECT_EQ(BackupHostsOf(scale_up, 9), 1);
  EXPECT_EQ(BackupHostsOf(scale_up, 1), 0) << "a host without a domain";
  scale_up.hosts_per_domain = 0;
  EXPECT_EQ(BackupHostsOf(scale_up, 2), 1);
}

// Lost ranks of job 0 get new hosts.
placement::GangPlan Replace(Snapshot& s, const std::vector<int>& lost) {
  ApplyBackupPolicy(s);
  const JobState& job = s.jobs[0];
  return placement::ReplaceHosts(s.cluster, {&job.job, job.groups.get(), nullptr, 0},
                                 job.assignment->host_of_rank, lost, s.network->spec().backup);
}

TEST(BackupPoolTest, ARepairedHostRefillsThePool) {
  Snapshot s = Chosen();
  AddJob(s, "a", 8);
  std::vector<HostId> hosts;
  for (int h = 0; h < 8; ++h) hosts.push_back(HostId(h));
  Place(s, JobId(0), hosts);
  // Two at once, rank 0 among them: both spares step in.
  for (int down : {0, 5})
    s.cluster.hosts[static_cast<std::size_t>(down)].unavailable = Unavailability::kNotReady;
  Snapshot now = s;
  const placement::GangPlan plan = Replace(now, {0, 5});
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.host_of_rank[0], HostId(8));
  EXPECT_EQ(plan.host_of_rank[5], HostId(9));
  for (int h : {0, 5}) s.cluster.hosts[static_cast<std::size_t>(h)].free_gpus = 8;
  for (int h : {8, 9}) s.cluster.hosts[static_cast<std::size_t>(h)].free_gpus = 0;
  s.jobs[0].assignment->host_of_rank = plan.host_of_rank;
  // Nothing is left to step in, until one of them returns.
  s.cluster.hosts[3].unavailable = Unavailability::kNotReady;
  now = s;
  EXPECT_EQ(Replace(now, {3}).outcome, Outcome::kNotNow);
  s.cluster.hosts[5].unavailable = Unavailability::kNo;
  now = s;
  const placement::GangPlan again = Replace(now, {3});
  ASSERT_EQ(again.outcome, Outcome::kPlaced);
  EXPECT_EQ(again.host_of_rank[3], HostId(5));
}

TEST(BackupPoolTest, LentHostsStayInThePoolAndAreTakenBack) {
  Snapshot s = Chosen(0, true);
  AddJob(s, "a", 8);
  AddJob(s, "guest", 2).job.preemptible = true;
  std::vector<HostId> hosts;
  for (int h = 0; h < 8; ++h) hosts.push_back(HostId(h));
  Place(s, JobId(0), hosts);
  ApplyBackupPolicy(s);
  PlanOptions options;
  const Plan lent = MakePlan(s, options);
  ASSERT_TRUE(lent.jobs[1].is_new && lent.jobs[1].uses_backup);
  Place(s, JobId(1), lent.jobs[1].gang.host_of_rank);
  for (placement::HostState& host : s.cluster.hosts) host.backup = false;
  EXPECT_EQ(PoolOf(s), (std::vector<int>{8, 9}));
  s.cluster.hosts[2].unavailable = Unavailability::kNotReady;
  s.jobs[0].lost_ranks = {2};
  ApplyBackupPolicy(s);
  const auto back = PlanTakeBack(s, JobId(0));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->victims, std::vector<JobId>{JobId(1)});
  s.jobs[1].may_be_preempted = false;
  EXPECT_FALSE(PlanTakeBack(s, JobId(0)));
}

TEST(BackupPoolTest, TheSizeOfThePoolDependsOnNobodysState) {
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    Snapshot s = Chosen(0, random.Below(2) == 0);
    for (placement::HostState& host : s.cluster.hosts) {
      if (random.Below(3) == 0) host.free_gpus = static_cast<std::int16_t>(random.Below(9));
      if (random.Below(4) == 0) host.unavailable = Unavailability::kNotReady;
    }
    EXPECT_EQ(PoolOf(s).size(), 2u);
    EXPECT_EQ(PoolOf(s), PoolOf(s));
  }
}

}  // namespace
}  // namespace yardmaster::plan
