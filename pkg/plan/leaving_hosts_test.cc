#include "pkg/plan/leaving_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using placement::Outcome;
using placement::ReasonCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kLimitMs = 30'000;
constexpr std::int64_t kNowMs = 1'000'000;

PlanOptions Waiting() {
  PlanOptions options;
  options.placement.explain = false;
  options.policies = AwaitLeavingHosts(kLimitMs);
  return options;
}

void Leaves(Snapshot& s, HostId host, std::int64_t free_ms) {
  s.cluster.hosts[host.index()].free_gpus = 0;
  s.leaving.push_back({host, free_ms, 8, {}, "TrainingJob default/old"});
}

// Two segments of four ordinary hosts. Of the first, hosts 2 and 3 come free at 1,012 s; of the
// second, hosts 7 and 8 are held.
class LeavingHostsTest : public ::testing::Test {
 protected:
  LeavingHostsTest() : snapshot_(MakeSnapshot(fabric::SmallHpn(1, 2, 5))) {
    snapshot_.now_ms = kNowMs;
    AddJob(snapshot_, "held", 2);
    Place(snapshot_, JobId(0), {HostId(7), HostId(8)});
    Leaves(snapshot_, HostId(2), kNowMs + 12'000);
    Leaves(snapshot_, HostId(3), kNowMs + 12'000);
  }

  JobPlan PlanOf(JobId job) { return Of(MakePlan(snapshot_, Waiting()), job); }

  Snapshot snapshot_;
};

TEST_F(LeavingHostsTest, AJobWaitsForHostsThatMakeItsPlaceBetter) {
  AddJob(snapshot_, "next", 4);
  const JobPlan next = PlanOf(JobId(1));
  EXPECT_EQ(next.gang.outcome, Outcome::kNotNow);
  EXPECT_FALSE(next.is_new);
  ASSERT_TRUE(next.awaited.has_value());
  EXPECT_THAT(next.awaited->hosts, ElementsAre(HostId(0), HostId(1), HostId(2), HostId(3)));
  EXPECT_EQ(next.awaited->until_ms, kNowMs + 12'000 + kLeavingSlackMs);
  ASSERT_EQ(next.gang.reasons.size(), 1u);
  EXPECT_EQ(next.gang.reasons[0].code, ReasonCode::kHostsLeaving);
  EXPECT_EQ(next.gang.reasons[0].count, 2);
  EXPECT_EQ(next.gang.reasons[0].message,
            "waits up to 22 s for 2 hosts that come free: TrainingJob default/old ends; "
            "1 segment then, 2 now");
}

TEST_F(LeavingHostsTest, ItTakesThePlaceOnceItIsFree) {
  AddJob(snapshot_, "next", 4).awaits_since_ms = kNowMs - 1'000;
  snapshot_.leaving.clear();
  snapshot_.cluster.hosts[2].free_gpus = snapshot_.cluster.hosts[3].free_gpus = 8;
  const JobPlan next = PlanOf(JobId(1));
  EXPECT_TRUE(next.is_new);
  EXPECT_EQ(next.gang.objective.segments, 1);
}

TEST_F(LeavingHostsTest, AnEqualPlaceIsTakenAtOnce) {
  AddJob(snapshot_, "fits", 2);
  AddJob(snapshot_, "spans", 5);
  snapshot_.cluster.hosts[7].free_gpus = 8;
  // Five hosts are in two segments now and then.
  EXPECT_TRUE(PlanOf(JobId(1)).is_new);
  snapshot_.jobs[1].problems = {"left out"};
  EXPECT_TRUE(PlanOf(JobId(2)).is_new);
}

TEST_F(LeavingHostsTest, AJobThatFitsOnlyThenWaitsAndOthersDoNotTakeItsHosts) {
  AddJob(snapshot_, "next", 6).job.created_ms = 1;
  AddJob(snapshot_, "small", 2).job.created_ms = 2;
  const Plan plan = MakePlan(snapshot_, Waiting());
  EXPECT_EQ(Of(plan, JobId(1)).awaited->hosts.size(), 6u);
  EXPECT_THAT(Of(plan, JobId(1)).gang.reasons[0].message, HasSubstr("it fits then"));
  EXPECT_FALSE(Of(plan, JobId(2)).is_new);
  EXPECT_EQ(Of(plan, JobId(2)).gang.reasons[0].code, ReasonCode::kWaitsForTurn);
  snapshot_.leaving.clear();
  EXPECT_TRUE(PlanOf(JobId(2)).is_new) << "nothing comes free";
}

TEST_F(LeavingHostsTest, JobsBehindTakeWhatTheWaitDoesNotNeed) {
  AddJob(snapshot_, "next", 4).job.created_ms = 1;
  AddJob(snapshot_, "small", 2).job.created_ms = 2;
  const JobPlan small = PlanOf(JobId(2));
  EXPECT_TRUE(small.is_new);
  EXPECT_THAT(small.gang.host_of_rank, ElementsAre(HostId(5), HostId(6)));
}

TEST_F(LeavingHostsTest, TheLimitCountsFromTheFirstWait) {
  AddJob(snapshot_, "next", 4).awaits_since_ms = kNowMs - kLimitMs + 5'000;
  const JobPlan waits = PlanOf(JobId(1));
  ASSERT_TRUE(waits.awaited.has_value());
  EXPECT_EQ(waits.awaited->until_ms, kNowMs + 5'000);
  snapshot_.jobs[1].awaits_since_ms = kNowMs - kLimitMs;
  const JobPlan taken = PlanOf(JobId(1));
  EXPECT_TRUE(taken.is_new);
  EXPECT_EQ(taken.gang.objective.segments, 2);
}

TEST_F(LeavingHostsTest, AHostThatComesFreeLaterThanTheLimitIsNotAwaited) {
  AddJob(snapshot_, "next", 4);
  snapshot_.leaving[1].free_ms = kNowMs + kLimitMs + kLeavingSlackMs + 1;
  EXPECT_TRUE(PlanOf(JobId(1)).is_new);
}

TEST_F(LeavingHostsTest, AHostThatShouldHaveBeenFreeIsNotAwaited) {
  AddJob(snapshot_, "next", 4);
  snapshot_.leaving[0].free_ms = kNowMs - kLeavingSlackMs - 1;
  EXPECT_TRUE(PlanOf(JobId(1)).is_new);
}

TEST_F(LeavingHostsTest, NoJobIsStoppedForOneThatWaitsForHosts) {
  snapshot_.jobs[0].job.priority = -1;
  AddJob(snapshot_, "next", 6);
  PlanOptions options = Waiting();
  options.policies.push_back(StopOthers(4));
  const JobPlan next = Of(MakePlan(snapshot_, options), JobId(1));
  EXPECT_TRUE(next.awaited.has_value());
  EXPECT_FALSE(next.sought_victims);
}

TEST_F(LeavingHostsTest, WithoutThePolicyNothingIsAwaited) {
  AddJob(snapshot_, "next", 4);
  EXPECT_TRUE(Of(MakePlan(snapshot_), JobId(1)).is_new);
}

// A cluster over time, a pass a second: jobs end, and their hosts come free after a while, some
// never; a host may end again and again.
class LeavingHistory {
 public:
  explicit LeavingHistory(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 16; ++i) {
      Sim sim;
      sim.name = StrCat("j", 10 + i);
      sim.hosts = 1 + static_cast<int>(random_.Below(6));
      sim.created_s = static_cast<int>(random_.Below(90));
      sim.runs_s = 5 + static_cast<int>(random_.Below(40));
      sims_.push_back(sim);
    }
  }

  // Jobs that waited for hosts.
  int Run() {
    for (now_s_ = 0; now_s_ < 400; ++now_s_) {
      EndJobs();
      Pass();
    }
    int waited = 0;
    for (const Sim& sim : sims_) waited += sim.awaits_since_ms.has_value() ? 1 : 0;
    return waited;
  }

 private:
  struct Sim {
    std::string name;
    int hosts = 1, created_s = 0, runs_s = 1, started_s = -1;
    bool done = false;
    std::optional<std::int64_t> awaits_since_ms;
    std::vector<HostId> at;
  };
  // A pod that ends: gone at gone_s; its deletion says free_s.
  struct Pod {
    HostId host;
    int free_s = 0, gone_s = 0;
  };

  void EndJobs() {
    std::erase_if(pods_, [&](const Pod& pod) { return pod.gone_s <= now_s_; });
    for (Sim& sim : sims_) {
      if (sim.started_s < 0 || sim.done || now_s_ < sim.started_s + sim.runs_s) continue;
      sim.done = true;
      const int grace_s = 5 + static_cast<int>(random_.Below(60));
      for (const HostId host : sim.at) {
        const bool hangs = random_.Below(8) == 0;
        const int takes_s = static_cast<int>(random_.Below(hangs ? 150u : 20u));
        pods_.push_back({host, now_s_ + grace_s, now_s_ + takes_s});
      }
    }
    for (Pod& pod : pods_) {
      if (random_.Below(20) == 0) pod.free_s = now_s_ + 10;  // it is made and ended once more
    }
  }

  Snapshot Now(std::vector<Sim*>& of_job) {
    Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 3, 5));
    s.now_ms = now_s_ * 1000;
    for (Sim& sim : sims_) {
      if (sim.done || sim.created_s > now_s_) continue;
      JobState& job = AddJob(s, sim.name, sim.hosts);
      of_job.push_back(&sim);
      job.job.created_ms = sim.created_s * 1000;
      job.awaits_since_ms = sim.awaits_since_ms;
      if (!sim.at.empty()) Place(s, LastJob(s), sim.at);
    }
    for (const Pod& pod : pods_) Leaves(s, pod.host, pod.free_s * 1000);
    return s;
  }

  void Pass() {
    std::vector<Sim*> of_job;
    const Snapshot s = Now(of_job);
    const std::vector<JobId> queue = QueueOrder(s);
    const Plan plan = MakePlan(s, Waiting());
    std::map<HostId, std::string> taken;  // and kept
    for (const JobPlan& job : plan.jobs) {
      Sim& sim = *of_job[job.job.index()];
      if (job.gang.outcome == Outcome::kPlaced) {
        for (const HostId host : job.gang.host_of_rank) {
          EXPECT_TRUE(taken.emplace(host, sim.name).second) << sim.name << " and " << taken[host];
        }
      }
      if (job.is_new) {
        EXPECT_TRUE(VerifyPlacement(s, job.job, job.gang.host_of_rank).ok()) << sim.name;
        sim.at = job.gang.host_of_rank;
        sim.started_s = now_s_;
      }
      if (!job.awaited) continue;
      if (!sim.awaits_since_ms) sim.awaits_since_ms = s.now_ms;
      EXPECT_LT(s.now_ms, *sim.awaits_since_ms + kLimitMs) << sim.name << " waits for too long";
      EXPECT_GT(job.awaited->until_ms, s.now_ms - 1);
      for (const HostId host : job.awaited->hosts) {
        EXPECT_TRUE(taken.emplace(host, sim.name).second) << sim.name << " and " << taken[host];
      }
    }
    if (queue.empty() || Of(plan, queue[0]).awaited) return;
    // The first of the queue takes what is there.
    PlanOptions at_once = Waiting();
    at_once.policies.clear();
    EXPECT_EQ(Of(plan, queue[0]).is_new, Of(MakePlan(s, at_once), queue[0]).is_new);
  }

  Random random_;
  std::vector<Sim> sims_;
  std::vector<Pod> pods_;
  int now_s_ = 0;
};

TEST(LeavingHistoryTest, NoJobWaitsLongerThanTheLimitAndNoHostIsGivenTwice) {
  int waited = 0;
  for (std::uint64_t seed = 1; seed <= Rounds(40u) && !testing::Test::HasFailure(); ++seed) {
    waited += LeavingHistory(seed).Run();
  }
  EXPECT_GT(waited, MoreThan(40));
}

}  // namespace
}  // namespace yardmaster::plan
