#include "pkg/operator/jobs/job_step.h"

#include "gtest/gtest.h"

namespace yardmaster::op {
namespace {

using api::IncidentCause;
using api::OnHostLoss;

constexpr std::int64_t kNow = 1'700'000'000'000;

Worker On(WorkerPhase phase, HostHealthState host = HostHealthState::kHealthy,
          std::int64_t attempt = 0) {
  Worker worker;
  worker.phase = phase;
  worker.uid = "uid";
  worker.host = "host";
  worker.attempt = attempt;
  worker.host_verdict = {host, host == HostHealthState::kNotReady ? 6'000 : 0, ""};
  return worker;
}

JobObservation Job(std::vector<Worker> workers) {
  JobObservation job;
  job.workers = std::move(workers);
  job.recovery.running_attempt = 0;
  job.now_ms = kNow;
  return job;
}

TEST(JobStepTest, MissingWorkersOfAJobThatNeverRanAreMade) {
  JobObservation job = Job({Worker{}, On(WorkerPhase::kRunning), Worker{}});
  job.recovery.running_attempt = -1;
  const JobStep step = NextStep(job);
  EXPECT_EQ(step.create, (std::vector<int>{0, 2}));
  EXPECT_EQ(step.ready, 1);
  EXPECT_FALSE(step.decided);
}

TEST(JobStepTest, AHostThatIsNotReadyForAShortTimeIsLookedAtAgain) {
  const JobStep step = NextStep(Job({On(WorkerPhase::kRunning, HostHealthState::kNotReady)}));
  EXPECT_TRUE(step.remove.empty());
  EXPECT_EQ(step.look_again_ms, 6'000);
  EXPECT_EQ(step.ready, 0);
}

TEST(JobStepTest, AHostIsNotHeldForAJobThatLeavesIt) {
  JobObservation job =
      Job({On(WorkerPhase::kRunning, HostHealthState::kHeld), On(WorkerPhase::kRunning)});
  job.workers[0].host_verdict.reason = "full disruption";
  EXPECT_EQ(NextStep(job).held, "full disruption");
  job.run.suspended = true;
  job.checkpoint.request = api::CheckpointRequest::kAnnotation;
  const JobStep step = NextStep(job);
  EXPECT_NE(step.request_checkpoint_ms, 0) << "its pods are still there";
  EXPECT_EQ(step.held, "");
}

TEST(JobStepTest, AHostIsNotHeldForAPodThatLeavesWithItsNode) {
  JobObservation job = Job({On(WorkerPhase::kRunning, HostHealthState::kHeld)});
  job.workers[0].host_verdict.reason = "full disruption";
  job.workers[0].deleting = true;
  EXPECT_EQ(NextStep(job).held, "full disruption") << "no kubelet ends it, and it is not forced";
  job.workers[0].host_gone = true;
  EXPECT_EQ(NextStep(job).held, "");
}

TEST(JobStepTest, WhatIsKnownOfTheHostsIsForgottenWhenAJobLeavesThem) {
  JobObservation job = Job({On(WorkerPhase::kRunning), On(WorkerPhase::kRunning)});
  job.running_ms = 3'600'000;
  job.workers[1].progress = api::ProgressReport{
      api::ProgressState::kWaiting, kNow - 60'000, api::ProcessActivity::kStopped, {}, 2, 0, kNow};
  job.workers[0].host_verdict.fault = FaultAction::kDegrade;
  job.workers[0].host_verdict.holds_back = true;
  JobStep step = NextStep(job);
  ASSERT_TRUE(step.no_progress.exists());
  ASSERT_TRUE(step.held_back);
  job.moves = true;
  step = NextStep(job);
  ASSERT_TRUE(step.begins_move);
  EXPECT_FALSE(step.no_progress.exists());
  EXPECT_EQ(step.degraded, "");
  EXPECT_FALSE(step.held_back);
}

TEST(JobStepTest, ALostHostIsAnIncidentThatIsNotCounted) {
  JobObservation job =
      Job({On(WorkerPhase::kRunning, HostHealthState::kLost), On(WorkerPhase::kRunning)});
  JobStep step = NextStep(job);
  EXPECT_TRUE(step.decided);
  ASSERT_EQ(step.remove.size(), 2u);
  EXPECT_TRUE(step.remove[0].force);
  EXPECT_FALSE(step.remove[1].force);
  EXPECT_EQ(step.recovery.incidents.back().cause, IncidentCause::kHostLost);
  EXPECT_FALSE(step.recovery.incidents.back().counted);
  EXPECT_EQ(step.recovery.min_attempt, 1);
  job.policy.on_host_loss = OnHostLoss::kReplace;
  step = NextStep(job);
  ASSERT_EQ(step.remove.size(), 1u);
  EXPECT_EQ(step.recovery.min_attempt, 0);
}

TEST(JobStepTest, AnIncidentThatIsWrittenIsNotDecidedAgain) {
  JobObservation job = Job({On(WorkerPhase::kFailed), On(WorkerPhase::kRunning)});
  const JobStep first = NextStep(job);
  EXPECT_TRUE(first.decided);
  job.recovery = first.recovery;
  const JobStep second = NextStep(job);
  EXPECT_FALSE(second.decided);
  EXPECT_EQ(second.recovery, first.recovery);
  EXPECT_EQ(second.remove.size(), 2u) << "and is carried on";
}

TEST(JobStepTest, AJobThatFailsRemovesWhatRunsBeforeItSaysSo) {
  JobObservation job = Job({On(WorkerPhase::kFailed), On(WorkerPhase::kRunning)});
  job.policy.max_restarts = 0;
  JobStep step = NextStep(job);
  EXPECT_EQ(step.outcome, JobOutcome::kRunning);
  ASSERT_EQ(step.remove.size(), 1u);
  EXPECT_EQ(step.remove[0].rank, 1);
  job.recovery = step.recovery;
  job.workers[1].deleting = true;
  step = NextStep(job);
  EXPECT_EQ(step.outcome, JobOutcome::kFailed);
  EXPECT_TRUE(step.create.empty());
}

TEST(JobStepTest, ATerminatingPodOfALostHostIsRemovedByForce) {
  Worker worker = On(WorkerPhase::kRunning, HostHealthState::kLost);
  worker.deleting = true;
  const JobStep step = NextStep(Job({worker, On(WorkerPhase::kRunning)}));
  ASSERT_FALSE(step.remove.empty());
  EXPECT_TRUE(step.remove[0].force);
}

TEST(JobStepTest, APodOfALostHostThatIsNotFencedIsNotRemovedByForce) {
  JobObservation job =
      Job({On(WorkerPhase::kRunning, HostHealthState::kLost), On(WorkerPhase::kRunning)});
  job.policy.on_host_loss = OnHostLoss::kReplace;
  job.workers[0].host_fenced = false;
  JobStep step = NextStep(job);
  EXPECT_EQ(step.fence, std::vector<std::string>{"host"});
  ASSERT_EQ(step.remove.size(), 1u);
  EXPECT_FALSE(step.remove[0].force);
  EXPECT_TRUE(step.look_again_ms.has_value());
  job.recovery = step.recovery;
  job.workers[0].deleting = true;
  step = NextStep(job);
  EXPECT_TRUE(step.remove.empty());
  EXPECT_EQ(step.fence, std::vector<std::string>{"host"});
  job.workers[0].host_fenced = true;
  step = NextStep(job);
  ASSERT_EQ(step.remove.size(), 1u);
  EXPECT_TRUE(step.remove[0].force);
  EXPECT_TRUE(step.fence.empty());
}

TEST(JobStepTest, FailuresOfSingleRanksThatFollowSoonJoinTheIncident) {
  JobObservation job =
      Job({On(WorkerPhase::kFailed), On(WorkerPhase::kRunning), On(WorkerPhase::kRunning)});
  job.policy.on_worker_failure = OnHostLoss::kReplace;
  job.recovery = NextStep(job).recovery;
  job.workers[2] = On(WorkerPhase::kFailed);
  job.now_ms += 5'000;
  JobStep step = NextStep(job);
  EXPECT_TRUE(step.decided);
  EXPECT_EQ(step.recovery.attempt, 1);
  EXPECT_EQ(step.recovery.restarts_in_window, 1);
  EXPECT_EQ(step.recovery.incidents.back().ranks, (std::vector<int>{0, 2}));
  // The rank that was recreated fails again: another incident.
  job.recovery = step.recovery;
  job.workers[0] = On(WorkerPhase::kFailed, HostHealthState::kHealthy, 1);
  step = NextStep(job);
  EXPECT_EQ(step.recovery.attempt, 2);
  EXPECT_EQ(step.recovery.restarts_in_window, 2);
  EXPECT_EQ(step.recovery.incidents.back().ranks, (std::vector<int>{0, 2}))
      << "rank 2 has not been recreated yet";
}

TEST(JobStepTest, RanksThatTheJobDoesNotHaveAnyMoreAreNoPartOfTheNextIncident) {
  JobObservation job = Job(std::vector<Worker>(4, On(WorkerPhase::kRunning)));
  job.policy.on_worker_failure = OnHostLoss::kReplace;
  job.workers[1] = job.workers[3] = On(WorkerPhase::kFailed);
  job.recovery = NextStep(job).recovery;
  ASSERT_EQ(job.recovery.incidents.back().ranks, (std::vector<int>{1, 3}));
  // A growth that found no room was given up; what stood behind the last rank is still in memory.
  job.workers.resize(2);
  job.workers[0] = On(WorkerPhase::kFailed);
  job.now_ms += 60'000;
  const JobStep step = NextStep(job);
  EXPECT_EQ(step.recovery.incidents.back().ranks, (std::vector<int>{0, 1}));
}

TEST(JobStepTest, AHostThatIsAvoidedForADayIsNotAvoidedForLessBecauseOfAFault) {
  JobObservation job = Job({On(WorkerPhase::kRunning, HostHealthState::kLost)});
  job.policy.on_host_loss = OnHostLoss::kReplace;
  job.workers[0].host_verdict.fault = FaultAction::kReplace;
  job.recovery.avoided = {{"host", kNow + 86'400'000}};
  EXPECT_EQ(NextStep(job).recovery.avoided,
            (std::vector<api::AvoidedHost>{{"host", kNow + 86'400'000}}));
}

TEST(JobStepTest, OnlyTheLastTenIncidentsAreKept) {
  JobObservation job = Job({On(WorkerPhase::kFailed)});
  job.policy.max_restarts = 100;
  for (int i = 0; i < 20; ++i) {
    job.workers[0].attempt = job.recovery.attempt;
    job.recovery = NextStep(job).recovery;
  }
  EXPECT_EQ(job.recovery.incidents.size(), 10u);
  EXPECT_EQ(job.recovery.incidents.back().attempt, 20);
  EXPECT_EQ(job.recovery.incidents.back().not_before_ms - job.recovery.incidents.back().start_ms,
            300'000)
      << "the longest back-off";
}

TEST(JobStepTest, TheJobSucceedsWhenEveryWorkerHas) {
  EXPECT_EQ(NextStep(Job({On(WorkerPhase::kSucceeded), On(WorkerPhase::kRunning)})).outcome,
            JobOutcome::kRunning);
  EXPECT_EQ(NextStep(Job({On(WorkerPhase::kSucceeded), On(WorkerPhase::kSucceeded)})).outcome,
            JobOutcome::kSucceeded);
}

TEST(JobStepTest, AnEndedJobMakesNoWorkerAgain) {
  JobObservation job = Job({Worker{}, Worker{}});
  job.ended = true;
  const JobStep step = NextStep(job);
  EXPECT_TRUE(step.create.empty());
  EXPECT_TRUE(step.remove.empty());
}

// Six ranks in three data groups: {0, 3}, {1, 4} and {2, 5}; rank 0 lost its host.
JobObservation ThreeDataGroups() {
  JobObservation job = Job(std::vector<Worker>(6, On(WorkerPhase::kRunning)));
  job.group_of_rank = {0, 1, 2, 0, 1, 2};
  job.workers[0].host_verdict.state = HostHealthState::kLost;
  return job;
}

TEST(JobStepTest, OnlyTheDataGroupOfALostHostLeavesItsHosts) {
  const JobStep step = NextStep(ThreeDataGroups());
  ASSERT_EQ(step.remove.size(), 2u);
  EXPECT_EQ(step.remove[0].rank, 0);
  EXPECT_EQ(step.remove[1].rank, 3);
  EXPECT_EQ(step.recovery.min_attempt, 0);
}

TEST(JobStepTest, APodOfAnotherDataGroupThatGoesMeanwhileTakesItsOwnGroupWithIt) {
  JobObservation job = ThreeDataGroups();
  job.recovery = NextStep(job).recovery;
  job.workers[0] = job.workers[3] = Worker{};
  job.workers[4] = Worker{};
  job.now_ms += 60'000;
  const JobStep step = NextStep(job);
  ASSERT_TRUE(step.decided);
  EXPECT_EQ(step.recovery.incidents.back().ranks, (std::vector<int>{0, 1, 3, 4}));
  ASSERT_EQ(step.remove.size(), 1u);
  EXPECT_EQ(step.remove[0].rank, 1);
  EXPECT_EQ(step.create, (std::vector<int>{0, 3, 4}));
  job.recovery = step.recovery;
  EXPECT_FALSE(NextStep(job).decided) << "the same look is the same incident";
}

}  // namespace
}  // namespace yardmaster::op
