#include "pkg/plan/alike_searches.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/leaving_hosts.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using placement::GangPlan;

GangPlan NotPlaced(const std::string& why) {
  GangPlan gang;
  gang.reasons = {{placement::ReasonCode::kNotEnoughHosts, {}, 1, why}};
  return gang;
}

class AlikeSearchesTest : public ::testing::Test {
 protected:
  AlikeSearchesTest() : snapshot_(MakeSnapshot(fabric::SmallHpn(1, 1, 5))) {
    AddJob(snapshot_, "a", 9);
    AddJob(snapshot_, "b", 9).job.created_ms = 7;
  }
  // The answer for "b" after that for "a"; empty: none.
  std::string Answer() {
    AlikeSearches searches(snapshot_);
    searches.Store(JobId(0), NotPlaced("full"));
    const GangPlan* found = searches.Find(JobId(1));
    return found == nullptr ? "" : found->reasons[0].message;
  }

  Snapshot snapshot_;
};

TEST_F(AlikeSearchesTest, AJobThatAsksForTheSameHasTheSameAnswer) { EXPECT_EQ(Answer(), "full"); }

TEST_F(AlikeSearchesTest, WhateverASearchLooksAtMakesAnotherJob) {
  const Snapshot before = snapshot_;
  const auto no_host = std::make_shared<placement::HostSet>(snapshot_.cluster.hosts.size(), 0);
  const std::function<void(Snapshot&)> changes[] = {
      [](Snapshot& s) { s.jobs[1].job.workers = 8; },
      [](Snapshot& s) { s.jobs[1].job.priority = 1; },
      [](Snapshot& s) { s.jobs[1].job.preemptible = true; },
      [](Snapshot& s) {
        s.jobs[1].job.requests = {{"cpu", 1}};
      },
      [](Snapshot& s) { s.jobs[1].job.placement.data.within = workload::TopologyLevel::kFabric; },
      [&](Snapshot& s) { s.jobs[1].eligible = no_host; },
      [&](Snapshot& s) { s.jobs[1].preferred = no_host; },
      [](Snapshot& s) { s.cluster.hosts[0].reserved_for = 0; },
      [](Snapshot& s) { s.cluster.hosts[0].reserved_for = 1; },
  };
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    snapshot_ = before;
    changes[i](snapshot_);
    EXPECT_EQ(Answer(), "") << i;
  }
}

TEST_F(AlikeSearchesTest, AChangeOfThePlanEndsWhatWasFound) {
  AlikeSearches searches(snapshot_);
  searches.Store(JobId(0), NotPlaced("full"));
  searches.Changed();
  EXPECT_EQ(searches.Find(JobId(1)), nullptr);
}

TEST_F(AlikeSearchesTest, OfManyDifferentJobsTheNewestAreKnown) {
  AlikeSearches searches(snapshot_);
  for (std::size_t i = 0; i <= AlikeSearches::kMost; ++i) {
    AddJob(snapshot_, StrCat("c", i), 10 + static_cast<int>(i));
  }
  for (std::size_t i = 0; i <= AlikeSearches::kMost; ++i) {
    searches.Store(JobId(2 + static_cast<int>(i)), NotPlaced(StrCat(i)));
  }
  EXPECT_EQ(searches.Find(JobId(2)), nullptr);
  EXPECT_NE(searches.Find(JobId(3)), nullptr);
}

// Full and half full clusters with queues of few kinds of jobs, with reservations, hosts that come
// free, backfill and hosts that are kept.
Snapshot RandomQueue(Random& random) {
  const auto below = [&](int n) {
    return static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
  };
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 2, 6));
  s.now_ms = 1'000'000;
  const int hosts = static_cast<int>(s.cluster.hosts.size());
  for (int host = 0; host < hosts; ++host) {
    if (below(3) == 0) continue;
    AddJob(s, StrCat("runs", host), 1);
    Place(s, LastJob(s), {HostId(host)});
    if (below(2) == 0) {
      s.jobs.back().started_ms = 900'000;
      s.jobs.back().job.run_seconds = 50 + below(200);
    }
  }
  for (int host = 0; host < hosts; ++host) {
    placement::HostState& state = s.cluster.hosts[static_cast<std::size_t>(host)];
    if (state.free_gpus == 0 || below(4) != 0) continue;
    state.free_gpus = 0;
    s.leaving.push_back({HostId(host), 1'000'000 + below(20'000), 8, {}, "TrainingJob x/old"});
  }
  const int queue = 2 + below(10);
  for (int i = 0; i < queue; ++i) {
    JobState& job = AddJob(s, StrCat("waits", i), 1 + 2 * below(3));
    job.job.created_ms = 100'000 + 1'000 * i;
    if (below(4) == 0) job.job.run_seconds = 60;
    if (below(5) == 0) job.job.preemptible = true;
    if (below(6) == 0) job.job.reserve_after_ms = 0;
    if (below(5) == 0) job.job.priority = 1;
  }
  if (below(3) == 0) {
    s.cluster.hosts[static_cast<std::size_t>(below(hosts))].reserved_for = LastJob(s).value;
  }
  return s;
}

void ExpectEqual(const Plan& a, const Plan& b, int round) {
  ASSERT_EQ(a.jobs.size(), b.jobs.size());
  for (std::size_t i = 0; i < a.jobs.size(); ++i) {
    const JobPlan &x = a.jobs[i], &y = b.jobs[i];
    EXPECT_EQ(x.job, y.job);
    EXPECT_EQ(x.is_new, y.is_new) << round << " job " << i;
    EXPECT_EQ(x.gang.outcome, y.gang.outcome) << round << " job " << i;
    EXPECT_EQ(x.gang.host_of_rank, y.gang.host_of_rank) << round << " job " << i;
    EXPECT_EQ(x.gang.reasons, y.gang.reasons) << round << " job " << i;
    EXPECT_EQ(x.gang.relaxations, y.gang.relaxations) << round << " job " << i;
    EXPECT_EQ(x.awaited.has_value(), y.awaited.has_value()) << round << " job " << i;
    EXPECT_EQ(x.uses_backup, y.uses_backup) << round << " job " << i;
  }
  ASSERT_EQ(a.reservations.size(), b.reservations.size()) << round;
  for (std::size_t i = 0; i < a.reservations.size(); ++i) {
    EXPECT_EQ(a.reservations[i].hosts, b.reservations[i].hosts) << round;
  }
}

TEST(AlikePlansTest, APlanIsTheSameAsIfNoTwoJobsWereAlike) {
  PlanOptions options;
  options.policies = AwaitLeavingHosts(30'000);
  const int rounds = Rounds(300);
  Random random(7);
  int unplaced = 0;
  for (int round = 0; round < rounds; ++round) {
    const Snapshot alike = RandomQueue(random);
    Snapshot apart = alike;
    // Nothing that a place depends on.
    for (std::size_t i = 0; i < apart.jobs.size(); ++i) {
      apart.jobs[i].job.profile.flop_per_iteration = static_cast<double>(i);
    }
    const Plan plan = MakePlan(alike, options);
    ExpectEqual(plan, MakePlan(apart, options), round);
    for (const JobPlan& job : plan.jobs) unplaced += job.gang.host_of_rank.empty() ? 1 : 0;
  }
  EXPECT_GT(unplaced, rounds) << "or the queues are too short to say anything";
}

}  // namespace
}  // namespace yardmaster::plan
