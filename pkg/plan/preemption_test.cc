#include "pkg/plan/preemption.h"

#include <gtest/gtest.h>
#include <map>
#include <tuple>

#include "pkg/base/random.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using placement::Outcome;
using workload::TopologyLevel;

std::vector<HostId> Hosts(int first, int count) {
  std::vector<HostId> hosts;
  for (int i = 0; i < count; ++i) hosts.push_back(HostId(first + i));
  return hosts;
}

// Two segments of four ordinary hosts and a backup.
Snapshot TwoSegments() {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 2, 5));
  return s;
}

TEST(PreemptionTest, FreesOneRightPlaceAtTheLeastCost) {
  Snapshot s = TwoSegments();
  AddJob(s, "a", 2);  // in segment 0, cheap together
  AddJob(s, "b", 2);
  AddJob(s, "c", 3);  // in segment 1
  AddJob(s, "d", 1);
  AddJob(s, "urgent", 3).job.priority = 5;
  s.jobs[4].job.placement.data = {workload::TopologyLevel::kSegment,
                                  workload::Enforcement::kRequired};
  Place(s, JobId(0), Hosts(0, 2));
  Place(s, JobId(1), Hosts(2, 2));
  Place(s, JobId(2), Hosts(5, 3));
  Place(s, JobId(3), Hosts(8, 1));
  const auto preemption = PlanPreemption(s, JobId(4));
  ASSERT_TRUE(preemption);
  EXPECT_EQ(preemption->victims, std::vector<JobId>{JobId(2)});
  EXPECT_EQ(preemption->gang.outcome, Outcome::kPlaced);
}

TEST(PreemptionTest, NeverStopsEqualProtectedOrUselessVictims) {
  Snapshot s = TwoSegments();
  AddJob(s, "a", 4);
  AddJob(s, "urgent", 4).job.priority = 5;
  Place(s, JobId(0), Hosts(0, 4));
  EXPECT_TRUE(PlanPreemption(s, JobId(1))->victims.empty());  // the other segment is free
  for (int h = 5; h < 9; ++h)
    s.cluster.hosts[static_cast<std::size_t>(h)].unavailable = placement::Unavailability::kCordoned;
  EXPECT_EQ(PlanPreemption(s, JobId(1))->victims, std::vector<JobId>{JobId(0)});
  s.jobs[0].may_be_preempted = false;
  EXPECT_FALSE(PlanPreemption(s, JobId(1)));
  s.jobs[0].may_be_preempted = true;
  s.jobs[0].job.priority = 5;
  EXPECT_FALSE(PlanPreemption(s, JobId(1)));
  s.jobs[0].job.priority = 0;
  AddJob(s, "huge", 40).job.priority = 9;
  EXPECT_FALSE(PlanPreemption(s, JobId(2)));
}

TEST(PreemptionTest, AGangOfEqualPriorityIsStoppedOnceItRanForLongerThanItSaid) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 5));
  s.now_ms = 1'000'000;
  JobState& runs = AddJob(s, "runs", 4);
  runs.started_ms = 900'000;
  Place(s, JobId(0), Hosts(0, 4));
  AddJob(s, "waits", 4).job.created_ms = 5;
  EXPECT_FALSE(PlanPreemption(s, JobId(1))) << "it said nothing";
  s.jobs[0].job.run_seconds = 100;
  EXPECT_FALSE(PlanPreemption(s, JobId(1)));
  s.now_ms = 1'000'001;
  EXPECT_EQ(PlanPreemption(s, JobId(1))->victims, std::vector<JobId>{JobId(0)});
  s.jobs[1].job.may_preempt = false;
  EXPECT_FALSE(PlanPreemption(s, JobId(1)));
  s.jobs[1].job.may_preempt = true;
  s.jobs[0].job.priority = 1;
  EXPECT_FALSE(PlanPreemption(s, JobId(1))) << "it would take its place back at once";
}

TEST(PreemptionTest, LowerPrioritiesGoFirst) {
  Snapshot s = TwoSegments();
  AddJob(s, "a", 2).job.priority = 1;
  AddJob(s, "b", 4).job.priority = 0;
  AddJob(s, "urgent", 2).job.priority = 5;
  Place(s, JobId(0), Hosts(0, 2));
  Place(s, JobId(1), Hosts(5, 4));
  for (int h : {2, 3})
    s.cluster.hosts[static_cast<std::size_t>(h)].unavailable = placement::Unavailability::kNotReady;
  EXPECT_EQ(PlanPreemption(s, JobId(2))->victims, std::vector<JobId>{JobId(1)});
}

TEST(PreemptionTest, NoVictimIsStoppedForNothing) {
  Random random(9);
  int with_victims = 0;
  for (int round = 0; round < 300; ++round) {
    Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 3, 5));
    int host = 0;
    while (host < 15) {
      const int size = 1 + static_cast<int>(random.Below(3));
      if (host / 5 == (host + size - 1) / 5 && (host + size - 1) % 5 != 4 && random.Below(4) > 0) {
        JobState& job = AddJob(s, "j" + std::to_string(host), size);
        job.job.priority = static_cast<int>(random.Below(3));
        Place(s, LastJob(s), Hosts(host, size));
      }
      host += size;
    }
    AddJob(s, "urgent", 1 + static_cast<int>(random.Below(6))).job.priority = 2;
    const JobId urgent = LastJob(s);
    const auto preemption = PlanPreemption(s, urgent);
    if (!preemption) continue;
    with_victims += !preemption->victims.empty();
    for (const JobId spared : preemption->victims) {
      EXPECT_LT(s.jobs[spared.index()].job.priority, 2);
      Snapshot fewer = s;
      for (const JobId victim : preemption->victims) {
        if (victim == spared) continue;
        for (HostId h : s.jobs[victim.index()].assignment->host_of_rank) {
          fewer.cluster.hosts[h.index()].free_gpus = 8;
        }
      }
      const JobState& job = fewer.jobs[urgent.index()];
      EXPECT_NE(
          placement::PlanGang(fewer.cluster, {&job.job, job.groups.get(), nullptr, urgent.value})
              .outcome,
          Outcome::kPlaced);
    }
  }
  EXPECT_GT(with_victims, MoreThan(30));
}

// The cheapest set by trying them all.
std::optional<std::vector<JobId>> CheapestByHand(const Snapshot& s, JobId job) {
  const JobState& wants = s.jobs[job.index()];
  using Cost = std::tuple<int, std::int64_t, placement::Objective, std::size_t, std::vector<JobId>>;
  std::optional<Cost> best;
  for (unsigned mask = 0; mask < 1u << job.value; ++mask) {
    Snapshot after = s;
    std::vector<JobId> victims;
    std::map<int, int> used;
    int highest = 0;
    std::int64_t gpus = 0;
    bool allowed = true;
    for (int i = 0; i < job.value; ++i) {
      if ((mask >> i & 1) == 0) continue;
      const JobState& victim = s.jobs[static_cast<std::size_t>(i)];
      allowed = allowed && victim.may_be_preempted && victim.job.priority < wants.job.priority;
      highest = victims.empty() ? victim.job.priority : std::max(highest, victim.job.priority);
      victims.emplace_back(i);
      gpus += victim.job.workers * victim.job.gpus_per_worker;
      for (const BudgetUse& use : victim.budgets) used[use.budget] += use.pods;
      for (HostId h : victim.assignment->host_of_rank) {
        after.cluster.hosts[h.index()].free_gpus +=
            static_cast<std::int16_t>(victim.job.gpus_per_worker);
      }
    }
    for (const auto& [budget, pods] : used) {
      allowed = allowed && pods <= s.budgets[static_cast<std::size_t>(budget)].allowed;
    }
    if (!allowed) continue;
    const placement::GangPlan plan = placement::PlanGang(
        after.cluster, {&wants.job, wants.groups.get(), nullptr, job.value}, {1'000'000, false});
    if (plan.outcome != Outcome::kPlaced) continue;
    const Cost cost{highest, gpus, plan.objective, victims.size(), victims};
    if (!best || cost < *best) best = cost;
  }
  if (!best) return std::nullopt;
  return std::get<4>(*best);
}

TEST(PreemptionTest, NoCheaperSetExists) {
  Random random(12);
  int with_victims = 0, several = 0, impossible = 0;
  for (int round = 0; round < Rounds(1200); ++round) {
    Snapshot s = MakeSnapshot(fabric::SmallHpn(1 + static_cast<int>(random.Below(2)), 2, 5));
    const int hosts = s.places->num_hosts();
    for (int b = 0; b < 2; ++b) s.budgets.push_back({"b", 1 + static_cast<int>(random.Below(4))});
    for (int host = 0; host < hosts && s.jobs.size() < 8;) {
      const int size = 1 + static_cast<int>(random.Below(3));
      if (host / 5 == (host + size - 1) / 5 && (host + size - 1) % 5 != 4 && random.Below(5) > 0) {
        JobState& job = AddJob(s, "j" + std::to_string(host), size);
        job.job.priority = static_cast<int>(random.Below(3));
        job.may_be_preempted = random.Below(6) > 0;
        if (random.Below(3) == 0) job.budgets.push_back({static_cast<int>(random.Below(2)), size});
        Place(s, LastJob(s), Hosts(host, size));
      }
      host += size;
    }
    for (int host = 0; host < hosts; ++host) {
      if (random.Below(4) == 0 && s.cluster.hosts[static_cast<std::size_t>(host)].free_gpus == 8) {
        s.cluster.hosts[static_cast<std::size_t>(host)].unavailable =
            placement::Unavailability::kCordoned;
      }
    }
    JobState& urgent = AddJob(s, "urgent", 1 + static_cast<int>(random.Below(7)));
    urgent.job.priority = 1 + static_cast<int>(random.Below(2));
    const TopologyLevel within[] = {TopologyLevel::kSegment, TopologyLevel::kFabricPod,
                                    TopologyLevel::kFabric};
    urgent.job.placement.data = {within[random.Below(3)], workload::Enforcement::kRequired};
    const JobId job = LastJob(s);
    const auto want = CheapestByHand(s, job);
    const auto got = PlanPreemption(s, job);
    ASSERT_EQ(got.has_value(), want.has_value()) << round;
    impossible += !want;
    if (!want) continue;
    EXPECT_TRUE(got->cheapest);
    ASSERT_EQ(got->victims, *want) << round;
    with_victims += !want->empty();
    several += want->size() > 1;
  }
  EXPECT_GT(with_victims, MoreThan(100));
  EXPECT_GT(several, MoreThan(40));
  EXPECT_GT(impossible, MoreThan(40));
}

TEST(PreemptionTest, SharedBudgetsAllowOneVictimButNotBoth) {
  Snapshot s = TwoSegments();
  s.budgets = {{"default/keep", 2}};
  for (const char* name : {"a", "b", "c"}) AddJob(s, name, 2).budgets = {{0, 2}};
  AddJob(s, "urgent", 2).job.priority = 1;
  s.jobs[3].job.placement.data = {TopologyLevel::kSegment, workload::Enforcement::kRequired};
  Place(s, JobId(0), Hosts(0, 2));
  Place(s, JobId(1), Hosts(2, 2));
  Place(s, JobId(2), Hosts(5, 2));
  for (int h : {7, 8}) s.cluster.hosts[static_cast<std::size_t>(h)].free_gpus = 0;
  EXPECT_EQ(PlanPreemption(s, JobId(3))->victims.size(), 1u);
  AddJob(s, "larger", 4).job.priority = 1;
  s.jobs[4].job.placement.data = {TopologyLevel::kSegment, workload::Enforcement::kRequired};
  EXPECT_FALSE(PlanPreemption(s, JobId(4)));
  s.budgets[0].allowed = 4;
  EXPECT_EQ(PlanPreemption(s, JobId(4))->victims, (std::vector<JobId>{JobId(0), JobId(1)}));
}

TEST(PreemptionTest, TheDecisionSaysWhoIsStoppedForWhatAndHowLongTheyHave) {
  Snapshot s = TwoSegments();
  AddJob(s, "a", 4).grace_seconds = 90;
  AddJob(s, "b", 4).grace_seconds = 10;
  AddJob(s, "urgent", 4).job.priority = 3;
  s.jobs[1].job.priority = 1;
  Place(s, JobId(0), Hosts(0, 4));
  Place(s, JobId(1), Hosts(5, 4));
  const auto decision = PlanPreemption(s, JobId(2));
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->grace_seconds, 90);
  EXPECT_EQ(
      decision->why,
      "stops default/a (32 GPUs, priority 0) for 4 hosts in segment p0s0; given 90 s to write "
      "a checkpoint, then back to the queue");
  s.jobs[2].job.may_preempt = false;
  EXPECT_FALSE(PlanPreemption(s, JobId(2)));
}

TEST(PreemptionTest, APlanKeepsWhatAPreemptorGetsFromLaterJobs) {
  Snapshot s = TwoSegments();
  AddJob(s, "a", 3);
  Place(s, JobId(0), Hosts(0, 3));
  for (int h = 5; h < 9; ++h) s.cluster.hosts[static_cast<std::size_t>(h)].free_gpus = 0;
  AddJob(s, "urgent", 4).job.priority = 3;
  AddJob(s, "small", 1);
  PlanOptions options;
  EXPECT_TRUE(MakePlan(s, options).jobs[2].is_new);  // takes the host that urgent needs
  options.policies = {StopOthers(8)};
  const Plan plan = MakePlan(s, options);
  ASSERT_TRUE(plan.jobs[1].preemption);
  EXPECT_EQ(plan.jobs[1].preemption->victims, std::vector<JobId>{JobId(0)});
  EXPECT_EQ(plan.jobs[2].gang.outcome, Outcome::kNotNow);
  EXPECT_EQ(plan.jobs[2].gang.reasons[0].code, placement::ReasonCode::kWaitsForTurn);
}

TEST(PreemptionTest, LentSparesAreTakenBack) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 1, 4);
  spec.backup.lend_to_preemptible = true;
  Snapshot s = MakeSnapshot(spec);
  AddJob(s, "a", 3);
  AddJob(s, "guest", 1).job.preemptible = true;
  Place(s, JobId(0), Hosts(0, 3));
  Place(s, JobId(1), Hosts(3, 1));
  s.cluster.hosts[1].unavailable = placement::Unavailability::kNotReady;
  s.jobs[0].lost_ranks = {1};
  const auto back = PlanTakeBack(s, JobId(0));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->victims, std::vector<JobId>{JobId(1)});
  EXPECT_EQ(back->gang.host_of_rank[1], HostId(3));
}

}  // namespace
}  // namespace yardmaster::plan
