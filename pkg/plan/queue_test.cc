#include "pkg/plan/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using placement::Outcome;
using placement::ReasonCode;
using workload::TopologyLevel;

PlanOptions Quick(int preemptions) {
  PlanOptions options;
  options.placement.explain = false;
  options.policies = {StopOthers(preemptions)};
  return options;
}

// Four ordinary hosts: two run until 1,100 s, all four are reserved for "big".
Snapshot Reserved() {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 5));
  s.now_ms = 1'000'000;
  JobState& running = AddJob(s, "running", 2);
  running.started_ms = 900'000;
  running.job.run_seconds = 200;
  Place(s, JobId(0), {HostId(1), HostId(2)});
  JobState& big = AddJob(s, "big", 4);
  big.job.reserve_after_ms = 60'000;
  return s;
}

TEST(QueueTest, AJobThatOnlyWaitsForItsTurnSaysSoWithCountsPerLevel) {
  Snapshot s = Reserved();
  AddJob(s, "small", 2).job.created_ms = 5;
  const Plan plan = MakePlan(s, Quick(0));
  const auto& reasons = Of(plan, JobId(2)).gang.reasons;
  ASSERT_GE(reasons.size(), 3u);
  EXPECT_EQ(reasons[0].code, ReasonCode::kWaitsForTurn);
  EXPECT_EQ(reasons[0].level, TopologyLevel::kFabric);
  EXPECT_EQ(reasons[0].count, 2);
  EXPECT_EQ(reasons[0].message,
            "waits for its turn: it would fit with 2 hosts kept for default/big, which goes first");
  EXPECT_EQ(reasons[1].code, ReasonCode::kWaitsForTurn);
  EXPECT_EQ(reasons[1].level, TopologyLevel::kFabricPod);
  EXPECT_EQ(reasons[2].level, TopologyLevel::kSegment);
  EXPECT_EQ(reasons[2].count, 1);
}

TEST(QueueTest, AJobThatWouldNotFitAnywayDoesNotBlameTheQueue) {
  Snapshot s = Reserved();
  AddJob(s, "larger", 3).job.created_ms = 5;
  const Plan plan = MakePlan(s, Quick(0));
  for (const auto& reason : Of(plan, JobId(2)).gang.reasons) {
    EXPECT_NE(reason.code, ReasonCode::kWaitsForTurn);
  }
}

TEST(QueueTest, WhoeverWaitedStopsPreemptibleJobsThatJumpedTheQueue) {
  Snapshot s = Reserved();
  JobState& guest = AddJob(s, "guest", 2);
  guest.job.created_ms = 5;
  guest.job.preemptible = true;
  guest.started_ms = 950'000;  // after the reservation of big at 60 s
  Place(s, JobId(2), {HostId(0), HostId(3)});
  EXPECT_TRUE(BackfilledAheadOf(s, JobId(1), JobId(2)));
  EXPECT_FALSE(PlanPreemption(s, JobId(1)));  // the others still run
  s.now_ms = 1'100'000;
  s.jobs[0].job.preemptible = true;  // running, too, but it was there before
  s.jobs[0].started_ms = 50'000;
  s.jobs[0].job.run_seconds.reset();
  EXPECT_FALSE(BackfilledAheadOf(s, JobId(1), JobId(0)));
  EXPECT_FALSE(PlanPreemption(s, JobId(1)));
  s.jobs[0].assignment.reset();
  s.cluster.hosts[1].free_gpus = s.cluster.hosts[2].free_gpus = 8;
  s.jobs[0].job.priority = -1;
  const auto back = PlanPreemption(s, JobId(1));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->victims, std::vector<JobId>{JobId(2)});
  s.jobs[2].may_be_preempted = false;
  EXPECT_FALSE(PlanPreemption(s, JobId(1)));
}

TEST(QueueTest, AJobThatDoesNotEndWhenItSaidIsStoppedForThoseThatWait) {
  Snapshot s = Reserved();
  JobState& guest = AddJob(s, "guest", 2);
  guest.job.created_ms = 5;
  guest.job.run_seconds = 100;
  guest.started_ms = 950'000;
  Place(s, JobId(2), {HostId(0), HostId(3)});
  s.now_ms = 1'050'000;
  EXPECT_FALSE(RanOver(s, JobId(2)));
  EXPECT_FALSE(BackfilledAheadOf(s, JobId(1), JobId(2)));
  s.now_ms = 1'050'001;
  EXPECT_TRUE(RanOver(s, JobId(2)));
  EXPECT_TRUE(BackfilledAheadOf(s, JobId(1), JobId(2)));
  EXPECT_FALSE(RanOver(s, JobId(1))) << "it waits";
}

// A cluster over time: jobs arrive, run as long as they say (or for an unknown time), are stopped
// and queued again.
class Timeline {
 public:
  explicit Timeline(std::uint64_t seed) : random_(seed) {
    const bool one_priority = random_.Below(2) == 0;
    for (int i = 0; i < 14; ++i) {
      Sim sim;
      sim.name = StrCat("j", 10 + i);
      sim.hosts = 1 + static_cast<int>(random_.Below(3)) * (i % 4 == 0 ? 2 : 1);
      sim.created_s = static_cast<int>(random_.Below(40));
      sim.runs_s = 3 + static_cast<int>(random_.Below(20));
      sim.known = random_.Below(4) > 0;
      sim.preemptible = random_.Below(4) == 0;
      sim.priority = one_priority ? 0 : static_cast<int>(random_.Below(2));
      if (random_.Below(2) == 0) sim.reserve_after_s = static_cast<int>(random_.Below(5));
      sims_.push_back(sim);
    }
  }

  // Counts promises that were kept; fails the test when one was not.
  int Run() {
    for (now_s_ = 0; now_s_ < 400; ++now_s_) {
      for (Sim& sim : sims_) {
        if (sim.started_s >= 0 && !sim.done && now_s_ >= sim.started_s + sim.runs_s) {
          sim.done = true;
          sim.at.clear();
        }
      }
      // Those who are stopped leave at once, then the others get their place.
      for (int again = 0; again < 4 && Pass(); ++again) {
      }
    }
    for (const Sim& sim : sims_) EXPECT_TRUE(sim.done) << sim.name;
    return kept_;
  }

 private:
  struct Sim {
    std::string name;
    int hosts = 1, created_s = 0, runs_s = 1, priority = 0, started_s = -1;
    bool known = true, preemptible = false, done = false;
    std::optional<int> reserve_after_s;
    std::vector<HostId> at;
    std::optional<std::int64_t> promised_ms;
  };

  Snapshot Now(std::vector<Sim*>& of_job) {
    Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 2, 5));
    s.now_ms = now_s_ * 1000;
    for (Sim& sim : sims_) {
      if (sim.done || sim.created_s > now_s_) continue;
      JobState& job = AddJob(s, sim.name, sim.hosts);
      of_job.push_back(&sim);
      job.job.created_ms = sim.created_s * 1000;
      job.job.priority = sim.priority;
      job.job.preemptible = sim.preemptible;
      if (sim.known) job.job.run_seconds = sim.runs_s;
      if (sim.reserve_after_s) job.job.reserve_after_ms = *sim.reserve_after_s * 1000;
      if (sim.at.empty()) continue;
      job.started_ms = sim.started_s * 1000;
      Place(s, LastJob(s), sim.at);
    }
    return s;
  }

  // True when a job was stopped.
  bool Pass() {
    std::vector<Sim*> of_job;
    const Snapshot s = Now(of_job);
    const std::vector<JobId> queue = QueueOrder(s);
    const Plan plan = MakePlan(s, Quick(3));
    bool stopped = false;
    for (const JobPlan& job : plan.jobs) {
      Sim& sim = *of_job[job.job.index()];
      if (job.is_new) {
        sim.at = job.gang.host_of_rank;
        sim.started_s = now_s_;
        if (sim.promised_ms) {
          ++kept_;
          sim.promised_ms.reset();
        }
      }
      if (!job.preemption) continue;
      for (const JobId victim : job.preemption->victims) {
        Sim& other = *of_job[victim.index()];
        EXPECT_TRUE(other.priority < sim.priority ||
                    (other.preemptible && other.priority == sim.priority));
        other.at.clear();
        other.started_s = -1;
        stopped = true;
      }
    }
    CheckPromise(s, queue, plan, of_job);
    return stopped;
  }

  // The first of the queue starts no later than it was ever promised while it was the first.
  void CheckPromise(const Snapshot& s, const std::vector<JobId>& queue, const Plan& plan,
                    const std::vector<Sim*>& of_job) {
    for (Sim* sim : of_job) {
      if (queue.empty() || sim != of_job[queue[0].index()]) {
        sim->promised_ms.reset();
      }
    }
    if (queue.empty() || Of(plan, queue[0]).is_new) return;
    Sim& first = *of_job[queue[0].index()];
    const auto& stops = Of(plan, queue[0]).preemption;
    if (stops && !stops->victims.empty()) return;  // it gets their place in the next pass
    if (first.promised_ms) {
      EXPECT_LT(s.now_ms, *first.promised_ms) << first.name << " waits longer than promised";
    }
    for (const Reservation& reservation : plan.reservations) {
      if (reservation.job != queue[0] || !reservation.start_ms) continue;
      // An end that did not come when it was expected promises nothing.
      if (*reservation.start_ms <= s.now_ms) continue;
      if (first.promised_ms) {
        EXPECT_LE(*reservation.start_ms, *first.promised_ms);
      }
      first.promised_ms = reservation.start_ms;
    }
  }

  Random random_;
  std::vector<Sim> sims_;
  int now_s_ = 0;
  int kept_ = 0;
};

TEST(QueueTest, AReservingJobIsNeverDelayedByThoseWhoDidNotWait) {
  int kept = 0;
  for (std::uint64_t seed = 1; seed <= Rounds(60u) && !testing::Test::HasFailure(); ++seed) {
    kept += Timeline(seed).Run();
  }
  EXPECT_GT(kept, MoreThan(40));
}

TEST(QueueTest, AnExpeditedJobGoesBeforeOlderJobsOfItsPriorityAndOfLowerOnes) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 4));
  AddJob(s, "older", 1).job.created_ms = 1;
  JobState& lost = AddJob(s, "lost", 1);
  lost.job.created_ms = 2;
  lost.expedited_since_ms = 900;
  AddJob(s, "urgent", 1).job.priority = 1;
  s.now_ms = 1'000;
  EXPECT_THAT(QueueOrder(s), ::testing::ElementsAre(JobId(2), JobId(1), JobId(0)));
}

TEST(QueueTest, AnExpeditedJobThatDoesNotFitReservesItsPlaceAtOnce) {
  Snapshot s = Reserved();
  s.jobs[1].job.reserve_after_ms.reset();
  AddJob(s, "small", 2).job.created_ms = 5;
  EXPECT_TRUE(Of(MakePlan(s, Quick(0)), JobId(2)).is_new) << "nothing is kept for big";
  s.jobs[1].expedited_since_ms = s.now_ms;
  const Plan plan = MakePlan(s, Quick(0));
  ASSERT_EQ(plan.reservations.size(), 1u);
  EXPECT_EQ(plan.reservations[0].job, JobId(1));
  EXPECT_FALSE(Of(plan, JobId(2)).is_new);
}

TEST(QueueTest, AnExpeditedJobStopsNothingThatStartedBeforeItLostItsPlace) {
  Snapshot s = Reserved();
  JobState& running = s.jobs[0];
  running.job.preemptible = true;
  running.job.created_ms = 950'000;
  running.started_ms = 960'000;
  s.jobs[1].expedited_since_ms = 970'000;
  s.jobs[1].gave_back_ms = 970'000;
  EXPECT_FALSE(BackfilledAheadOf(s, JobId(1), JobId(0))) << "nor does the time that it had a place";
  s.jobs[1].job.reserve_after_ms.reset();
  EXPECT_FALSE(BackfilledAheadOf(s, JobId(1), JobId(0)));
  s.jobs[1].expedited_since_ms = 950'000;
  EXPECT_TRUE(BackfilledAheadOf(s, JobId(1), JobId(0)));
}

TEST(QueueTest, AnExpeditedJobStopsOneThatPassedItBeforeItHadWaited) {
  Snapshot s = Reserved();
  s.jobs[0].job.preemptible = true;
  s.jobs[0].job.created_ms = 950'000;
  s.jobs[0].started_ms = 960'000;
  JobState& job = s.jobs[1];
  job.expedited_since_ms = 950'000;
  job.job.reserve_after_ms = 970'000 - job.job.created_ms;  // over before now, after the start
  ASSERT_GE(s.now_ms, 970'000);
  EXPECT_TRUE(BackfilledAheadOf(s, JobId(1), JobId(0)));
}

}  // namespace
}  // namespace yardmaster::plan
