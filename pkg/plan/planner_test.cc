#include "pkg/plan/planner.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using placement::Outcome;
using placement::ReasonCode;

TEST(QueueTest, PriorityThenAgeThenName) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 4));
  AddJob(s, "c", 1).job.created_ms = 5;
  AddJob(s, "b", 1).job.created_ms = 5;
  AddJob(s, "a", 1).job.created_ms = 9;
  AddJob(s, "d", 1).job.priority = 1;
  EXPECT_EQ(QueueOrder(s), (std::vector<JobId>{JobId(3), JobId(1), JobId(0), JobId(2)}));
}

TEST(QueueTest, JobsOfAllKindsAreOrderedByTheirOwnName) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 4));
  for (const char* gang : {"job-c", "trainingjob-b", "job-b", "jobset-a"}) AddJob(s, gang, 1);
  EXPECT_EQ(QueueOrder(s), (std::vector<JobId>{JobId(3), JobId(2), JobId(1), JobId(0)}));
}

TEST(PlannerTest, EachJobSeesWhatTheOnesBeforeItTook) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 2, 5));
  for (const char* name : {"a", "b", "c"}) AddJob(s, name, 3);
  const Plan plan = MakePlan(s);
  std::set<HostId> used;
  for (const JobId job : {JobId(0), JobId(1)}) {
    ASSERT_EQ(Of(plan, job).gang.outcome, Outcome::kPlaced);
    EXPECT_TRUE(Of(plan, job).is_new);
    EXPECT_TRUE(VerifyPlacement(s, job, Of(plan, job).gang.host_of_rank).ok());
    for (HostId host : Of(plan, job).gang.host_of_rank) EXPECT_TRUE(used.insert(host).second);
  }
  EXPECT_EQ(Of(plan, JobId(2)).gang.outcome, Outcome::kNotNow);
}

TEST(PlannerTest, AJobGetsTheHostsThatItPrefersAndOthersWhereThoseAreTaken) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 5));
  AddJob(s, "a", 1).job.priority = 1;
  AddJob(s, "b", 1);
  const auto only_last = std::make_shared<placement::HostSet>(5, 0);
  (*only_last)[3] = 1;
  s.jobs[1].preferred = only_last;
  EXPECT_EQ(Of(MakePlan(s), JobId(1)).gang.host_of_rank, std::vector<HostId>{HostId(3)});
  s.jobs[0].eligible = only_last;
  const Plan plan = MakePlan(s);
  EXPECT_EQ(Of(plan, JobId(0)).gang.host_of_rank, std::vector<HostId>{HostId(3)});
  ASSERT_EQ(Of(plan, JobId(1)).gang.outcome, Outcome::kPlaced);
  EXPECT_NE(Of(plan, JobId(1)).gang.host_of_rank, std::vector<HostId>{HostId(3)});
}

TEST(PlannerTest, NobodyIsStoppedForAHostThatAJobPrefers) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 5));
  AddJob(s, "runs", 1);
  Place(s, JobId(0), {HostId(3)});
  AddJob(s, "urgent", 1).job.priority = 1;
  const auto only_last = std::make_shared<placement::HostSet>(5, 0);
  (*only_last)[3] = 1;
  s.jobs[1].preferred = only_last;
  PlanOptions options;
  options.policies = {StopOthers(4)};
  const Plan plan = MakePlan(s, options);
  EXPECT_FALSE(Of(plan, JobId(1)).preemption.has_value());
  EXPECT_EQ(Of(plan, JobId(1)).gang.outcome, Outcome::kPlaced);
}

TEST(PlannerTest, AJobThatContradictsItselfStopsNobodyElse) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 4));
  AddJob(s, "bad", 1).problems = {"spec.workers: is 0; give a number from 1 to 1000000"};
  AddJob(s, "good", 1);
  const Plan plan = MakePlan(s);
  EXPECT_EQ(Of(plan, JobId(0)).gang.outcome, Outcome::kNever);
  EXPECT_EQ(Of(plan, JobId(0)).gang.reasons[0].code, ReasonCode::kInvalid);
  EXPECT_EQ(Of(plan, JobId(1)).gang.outcome, Outcome::kPlaced);
}

TEST(PlannerTest, ATensorGroupThatNoHostHoldsIsPlacedWithAWarning) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 4));
  workload::Parallelism wide, narrow;
  wide.tensor = 16;
  narrow.tensor = 8;
  AddJob(s, "narrow", narrow, 8);
  AddJob(s, "wide", wide, 8);
  const Plan plan = MakePlan(s);
  EXPECT_TRUE(Of(plan, JobId(0)).warnings.empty());
  ASSERT_EQ(Of(plan, JobId(1)).gang.outcome, Outcome::kPlaced);
  ASSERT_EQ(Of(plan, JobId(1)).warnings.size(), 1u);
  EXPECT_NE(Of(plan, JobId(1)).warnings[0].find("tensor groups of 16 GPUs do not fit a host of 8"),
            std::string::npos);
}

// Four hosts of one segment, in domains of `hosts`.
Snapshot FourInDomainsOf(int hosts) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 5));  // the last is a backup host
  std::vector<fabric::HostPlace> places;
  for (const HostId host : s.places->hosts()) {
    places.push_back({s.places->name(host), "p0", "s0", {}});
    places.back().domain = StrCat("d", host.value / hosts);
  }
  s.places = std::make_shared<const fabric::Places>(fabric::Places::Build(places).value());
  s.cluster.places = s.places;
  return s;
}

TEST(PlannerTest, ATensorGroupInsideADomainUsesNvlinkAndHasNoWarning) {
  workload::Parallelism wide;
  wide.tensor = 16;
  wide.data = 2;
  for (const int hosts : {2, 1}) {
    Snapshot s = FourInDomainsOf(hosts);
    AddJob(s, "wide", wide, 8);
    const Plan plan = MakePlan(s);
    ASSERT_EQ(Of(plan, JobId(0)).gang.outcome, Outcome::kPlaced);
    EXPECT_EQ(Of(plan, JobId(0)).warnings.empty(), hosts == 2);
  }
}

TEST(PlannerTest, WhatAHostHoldsOfGpusOfAnotherResourceIsNotSaid) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 4));
  workload::Parallelism tensor;
  tensor.tensor = 8;
  AddJob(s, "claims", tensor, 8).job.counts_gpus = false;
  for (placement::HostState& host : s.cluster.hosts) host.gpus = host.free_gpus = 0;
  const Plan plan = MakePlan(s);
  ASSERT_EQ(Of(plan, JobId(0)).gang.outcome, Outcome::kPlaced);
  EXPECT_TRUE(Of(plan, JobId(0)).warnings.empty());
}

TEST(PlannerTest, AWaitingJobReservesItsPlaceAndOnlyShortJobsBackfill) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 5));  // 4 ordinary hosts
  s.now_ms = 1'000'000;
  JobState& running = AddJob(s, "running", 2);
  running.started_ms = 900'000;
  running.job.run_seconds = 200;  // ends at 1,100,000
  Place(s, JobId(0), {HostId(1), HostId(2)});
  JobState& big = AddJob(s, "big", 4);
  big.job.priority = 5;
  big.job.reserve_after_ms = 60'000;
  AddJob(s, "long", 1).job.run_seconds = 101;
  AddJob(s, "short", 1).job.run_seconds = 100;
  AddJob(s, "unknown", 1);
  AddJob(s, "yielding", 1).job.preemptible = true;
  const Plan plan = MakePlan(s);
  ASSERT_EQ(plan.reservations.size(), 1u);
  EXPECT_EQ(plan.reservations[0].job, JobId(1));
  EXPECT_EQ(plan.reservations[0].start_ms, 1'100'000);
  EXPECT_EQ(Of(plan, JobId(1)).gang.outcome, Outcome::kNotNow);
  EXPECT_EQ(Of(plan, JobId(2)).gang.outcome, Outcome::kNotNow);
  EXPECT_TRUE(std::any_of(Of(plan, JobId(2)).gang.reasons.begin(),
                          Of(plan, JobId(2)).gang.reasons.end(),
                          [](const auto& r) { return r.code == ReasonCode::kReserved; }));
  EXPECT_EQ(Of(plan, JobId(3)).gang.outcome, Outcome::kPlaced);
  EXPECT_EQ(Of(plan, JobId(4)).gang.outcome, Outcome::kNotNow);
  EXPECT_EQ(Of(plan, JobId(5)).gang.outcome, Outcome::kPlaced);
}

TEST(PlannerTest, SparesAreLentToPreemptibleJobsByPolicy) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 1, 4);
  for (const bool lend : {false, true}) {
    spec.backup.lend_to_preemptible = lend;
    Snapshot s = MakeSnapshot(spec);
    AddJob(s, "a", 4).job.preemptible = true;
    const Plan plan = MakePlan(s);
    EXPECT_EQ(plan.jobs[0].gang.outcome == Outcome::kPlaced, lend);
    EXPECT_EQ(plan.jobs[0].uses_backup, lend);
  }
}

TEST(PlannerTest, LostRanksGetBackupHosts) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 5));
  AddJob(s, "a", 3);
  Place(s, JobId(0), {HostId(0), HostId(1), HostId(2)});
  s.jobs[0].lost_ranks = {0};
  s.cluster.hosts[0].unavailable = placement::Unavailability::kNotReady;
  PlanOptions options;
  options.policies = {ReplaceLostRanks()};
  const Plan plan = MakePlan(s, options);
  ASSERT_TRUE(plan.jobs[0].is_new);
  EXPECT_EQ(plan.jobs[0].gang.host_of_rank[0], HostId(4));
  EXPECT_TRUE(VerifyPlacement(s, JobId(0), plan.jobs[0].gang.host_of_rank, true).ok());
  EXPECT_FALSE(VerifyPlacement(s, JobId(0), plan.jobs[0].gang.host_of_rank, false).ok());
}

TEST(PlannerTest, APlaceThatStandsIsNotSaidToBeTheBest) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 2, 2));
  AddJob(s, "a", 2);
  Place(s, JobId(0), {HostId(0), HostId(2)});
  const Plan plan = MakePlan(s);
  EXPECT_EQ(plan.jobs[0].gang.objective.segments, 2);
  EXPECT_FALSE(plan.jobs[0].gang.optimal);
}

TEST(PlannerTest, TheSamePlanTwice) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(2, 2, 5));
  for (const char* name : {"a", "b", "c", "d", "e"}) AddJob(s, name, 3);
  const Plan one = MakePlan(s);
  const Plan two = MakePlan(s);
  ASSERT_EQ(one.jobs.size(), two.jobs.size());
  for (std::size_t i = 0; i < one.jobs.size(); ++i) {
    EXPECT_EQ(one.jobs[i].gang.host_of_rank, two.jobs[i].gang.host_of_rank);
    EXPECT_EQ(one.jobs[i].gang.reasons, two.jobs[i].gang.reasons);
  }
}

}  // namespace
}  // namespace yardmaster::plan
