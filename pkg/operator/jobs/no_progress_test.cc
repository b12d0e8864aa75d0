#include "pkg/operator/jobs/no_progress.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/operator/jobs/job_step.h"

namespace yardmaster::op {
namespace {

using api::ProcessActivity;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kNow = 1'700'000'000'000;
constexpr std::int64_t kMinute = 60'000;

// Of `count` workers, which run since an hour.
JobObservation Running(int count) {
  JobObservation job;
  for (int rank = 0; rank < count; ++rank) {
    Worker worker;
    worker.phase = WorkerPhase::kRunning;
    worker.uid = StrCat("uid", rank);
    worker.host = StrCat("n", rank);
    job.workers.push_back(worker);
  }
  job.recovery.running_attempt = 0;
  job.running_ms = 60 * kMinute;
  job.now_ms = kNow;
  return job;
}

void Wait(JobObservation& job, int rank, std::int64_t for_ms,
          ProcessActivity processes = ProcessActivity::kUnknown) {
  api::ProgressReport report;
  report.state = api::ProgressState::kWaiting;
  report.last_progress_ms = job.now_ms - for_ms;
  report.processes = processes;
  report.iteration_seconds = 2;
  report.time_ms = job.now_ms;
  job.workers[static_cast<std::size_t>(rank)].progress = report;
}

// Time goes on, and agents renew what they report.
void Pass(JobObservation& job, std::int64_t ms) {
  job.now_ms += ms;
  for (Worker& worker : job.workers) {
    if (worker.progress) worker.progress->time_ms = job.now_ms;
  }
}

TEST(FindNoProgress, AWorkerThatIsStoppedStopsAJobWhoseWorkersGoTogether) {
  JobObservation job = Running(8);
  Wait(job, 3, 25'000, ProcessActivity::kStopped);
  NoProgress found = FindNoProgress(job);
  EXPECT_FALSE(found.stall.exists());
  EXPECT_EQ(found.look_again_ms, 5'000);
  job.now_ms += 5'000;
  found = FindNoProgress(job);
  EXPECT_EQ(found.stall.reason, kCannotRun);
  EXPECT_THAT(found.stall.message, HasSubstr("worker 3 on host n3"));
  EXPECT_THAT(found.suspects, ElementsAre(3));
}

TEST(FindNoProgress, WhereOthersGoOnWithoutItMostHaveToWait) {
  for (const bool groups : {false, true}) {
    JobObservation job = Running(4);
    if (groups) {
      job.group_of_rank = {0, 0, 1, 1};
    } else {
      job.policy.on_worker_failure = api::OnHostLoss::kReplace;
    }
    Wait(job, 1, kMinute, ProcessActivity::kStopped);
    Wait(job, 2, kMinute);
    EXPECT_FALSE(FindNoProgress(job).stall.exists());
    Wait(job, 3, kMinute);
    const NoProgress found = FindNoProgress(job);
    EXPECT_EQ(found.stall.reason, kCannotRun);
    EXPECT_THAT(found.suspects, ElementsAre(1));
  }
}

TEST(FindNoProgress, WhenMostAreStoppedNobodyIsTheSuspect) {
  JobObservation job = Running(4);
  for (int rank = 0; rank < 3; ++rank) Wait(job, rank, kMinute, ProcessActivity::kStopped);
  const NoProgress found = FindNoProgress(job);
  EXPECT_EQ(found.stall.reason, kCannotRun);
  EXPECT_THAT(found.suspects, IsEmpty());
}

TEST(FindNoProgress, AWorkerThatWaitsInTheKernelMayWriteACheckpointUntilTheLimit) {
  JobObservation job = Running(4);
  for (int rank = 1; rank < 4; ++rank) Wait(job, rank, 9 * kMinute, ProcessActivity::kBusy);
  Wait(job, 0, 9 * kMinute, ProcessActivity::kUninterruptible);
  EXPECT_FALSE(FindNoProgress(job).stall.exists());
  Pass(job, kMinute);
  NoProgress found = FindNoProgress(job);
  EXPECT_EQ(found.stall.reason, kNoProgress);
  EXPECT_THAT(found.stall.message, HasSubstr("worker 0 on host n0 a process waits in the kernel"));
  EXPECT_THAT(found.suspects, ElementsAre(0));
  for (int rank = 1; rank < 4; ++rank) {
    Wait(job, rank, 10 * kMinute, ProcessActivity::kUninterruptible);
  }
  found = FindNoProgress(job);
  EXPECT_TRUE(found.stall.exists());
  EXPECT_THAT(found.suspects, IsEmpty()) << "a file system that all of them read";
}

TEST(FindNoProgress, AJobThatHasWrittenACheckpointSinceHasTheLimitAgain) {
  JobObservation job = Running(4);
  for (int rank = 0; rank < 4; ++rank) Wait(job, rank, 12 * kMinute);
  job.checkpoint_ms = job.now_ms - 9 * kMinute;
  const NoProgress found = FindNoProgress(job);
  EXPECT_FALSE(found.stall.exists());
  EXPECT_EQ(found.look_again_ms, kMinute);
  Pass(job, kMinute);
  EXPECT_TRUE(FindNoProgress(job).stall.exists());
}

TEST(FindNoProgress, AJobThatSaysThatTrainingIsOverIsNotStalledUntilItRestarts) {
  JobObservation job = Running(4);
  for (int rank = 0; rank < 4; ++rank) Wait(job, rank, 12 * kMinute);
  Wait(job, 2, 12 * kMinute, ProcessActivity::kStopped);
  ASSERT_TRUE(FindNoProgress(job).stall.exists());
  job.workers[1].last_checkpoint_ms = job.now_ms - 11 * kMinute;
  EXPECT_FALSE(FindNoProgress(job).stall.exists());
  job.workers[1].last_checkpoint_ms = job.now_ms - 61 * kMinute;
  EXPECT_TRUE(FindNoProgress(job).stall.exists()) << "of the attempt before";
}

TEST(FindNoProgress, AReportThatIsNotRenewedIsTheLastWordOfAnAgentThatIsGone) {
  for (const ProcessActivity processes : {ProcessActivity::kStopped, ProcessActivity::kBusy}) {
    JobObservation job = Running(4);
    for (int rank = 0; rank < 3; ++rank) Wait(job, rank, 20 * kMinute, processes);
    NoProgress found = FindNoProgress(job);
    EXPECT_TRUE(found.stall.exists());
    EXPECT_EQ(found.look_again_ms, api::kProgressLifeMs + 1);
    job.now_ms += *found.look_again_ms;
    found = FindNoProgress(job);
    EXPECT_FALSE(found.stall.exists());
    EXPECT_EQ(found.look_again_ms, std::nullopt);
    Pass(job, 0);
    EXPECT_TRUE(FindNoProgress(job).stall.exists()) << "renewed";
    job.now_ms -= 20 * kMinute;
    EXPECT_FALSE(FindNoProgress(job).stall.exists()) << "its time is yet to come";
  }
}

TEST(FindNoProgress, APauseOfMostWorkersIsAStallAfterItsLimit) {
  JobObservation job = Running(4);
  for (int rank = 0; rank < 3; ++rank) Wait(job, rank, 9 * kMinute, ProcessActivity::kBusy);
  NoProgress found = FindNoProgress(job);
  EXPECT_FALSE(found.stall.exists());
  EXPECT_EQ(found.look_again_ms, kMinute);
  job.now_ms += kMinute;
  found = FindNoProgress(job);
  EXPECT_EQ(found.stall.reason, kNoProgress);
  EXPECT_THAT(found.suspects, IsEmpty());
  job.now_ms -= kMinute;
  job.policy.stall_seconds = 120;
  EXPECT_TRUE(FindNoProgress(job).stall.exists());
  job.workers[2].progress.reset();
  EXPECT_FALSE(FindNoProgress(job).stall.exists()) << "half of them go on";
}

TEST(FindNoProgress, WorkersWhoseGpusComputeEvaluate) {
  JobObservation job = Running(3);
  for (int rank = 0; rank < 3; ++rank) Wait(job, rank, 20 * kMinute);
  job.workers[0].progress->gpus_compute = true;
  EXPECT_FALSE(FindNoProgress(job).stall.exists());
  job.workers[0].progress->gpus_compute = false;
  EXPECT_TRUE(FindNoProgress(job).stall.exists());
}

TEST(FindNoProgress, TheIdleOneAmongThoseThatPollIsTheSuspect) {
  JobObservation job = Running(8);
  for (int rank = 0; rank < 8; ++rank) Wait(job, rank, 20 * kMinute, ProcessActivity::kBusy);
  Wait(job, 5, 20 * kMinute, ProcessActivity::kIdle);
  EXPECT_THAT(FindNoProgress(job).suspects, ElementsAre(5));
  for (int rank = 0; rank < 8; ++rank) Wait(job, rank, 20 * kMinute, ProcessActivity::kIdle);
  EXPECT_THAT(FindNoProgress(job).suspects, IsEmpty()) << "all of them sleep";
}

TEST(FindNoProgress, TheFirstToStopIsTheSuspectWhereClocksCanTell) {
  JobObservation job = Running(4);
  for (int rank = 0; rank < 4; ++rank) Wait(job, rank, 20 * kMinute);
  Wait(job, 2, 20 * kMinute + kApartMs);
  EXPECT_THAT(FindNoProgress(job).suspects, IsEmpty());
  Wait(job, 2, 20 * kMinute + kApartMs + 1);
  EXPECT_THAT(FindNoProgress(job).suspects, ElementsAre(2));
  job.workers[2].progress->iteration_seconds = 20;
  EXPECT_THAT(FindNoProgress(job).suspects, IsEmpty()) << "within an iteration";
  job.workers[2].progress->iteration_seconds = 2;
  job.workers[0].progress->state = api::ProgressState::kProgressing;
  EXPECT_THAT(FindNoProgress(job).suspects, IsEmpty()) << "the other may have stopped before";
}

TEST(FindNoProgress, ReportsOfAnEarlierAttemptAndOfTheFutureDoNotCount) {
  JobObservation job = Running(2);
  job.running_ms = 20 * kMinute;
  for (int rank = 0; rank < 2; ++rank) Wait(job, rank, 21 * kMinute, ProcessActivity::kStopped);
  EXPECT_FALSE(FindNoProgress(job).stall.exists()) << "it starts for twenty minutes already";
  for (int rank = 0; rank < 2; ++rank) Wait(job, rank, -kMinute, ProcessActivity::kStopped);
  EXPECT_FALSE(FindNoProgress(job).stall.exists());
}

TEST(MadeProgressSince, OnlyWhatSaysSo) {
  JobObservation job = Running(4);
  for (int rank = 0; rank < 4; ++rank) Wait(job, rank, 20 * kMinute);
  const std::int64_t stalled_ms = kNow - 5 * kMinute;
  EXPECT_FALSE(MadeProgressSince(job, stalled_ms));
  job.workers[1].progress.reset();
  job.workers[2].progress->time_ms = 0;
  EXPECT_FALSE(MadeProgressSince(job, stalled_ms)) << "agents are gone, or have withdrawn it";

  JobObservation says = job;
  says.workers[0].progress->state = api::ProgressState::kProgressing;
  EXPECT_TRUE(MadeProgressSince(says, stalled_ms));
  says.workers[0].progress->time_ms = stalled_ms - 2 * kMinute;
  EXPECT_FALSE(MadeProgressSince(says, stalled_ms)) << "after an earlier pause";
  says.workers[0].progress->time_ms = kNow + kMinute;
  EXPECT_FALSE(MadeProgressSince(says, stalled_ms)) << "its time is yet to come";

  JobObservation computes = job;
  computes.workers[3].progress->gpus_compute = true;
  EXPECT_TRUE(MadeProgressSince(computes, stalled_ms));
  computes.workers[3].progress->time_ms = kNow - api::kProgressLifeMs - 1;
  EXPECT_FALSE(MadeProgressSince(computes, stalled_ms)) << "long ago";

  job.checkpoint_ms = stalled_ms - kMinute;
  EXPECT_FALSE(MadeProgressSince(job, stalled_ms));
  job.checkpoint_ms = stalled_ms + kMinute;
  EXPECT_TRUE(MadeProgressSince(job, stalled_ms));
}

// What the step of a job makes of it.

TEST(JobStall, WithoutThePolicyNothingRestarts) {
  JobObservation job = Running(4);
  Wait(job, 1, kMinute, ProcessActivity::kStopped);
  const JobStep step = NextStep(job);
  EXPECT_EQ(step.no_progress.reason, kCannotRun);
  EXPECT_FALSE(step.decided);
  EXPECT_THAT(step.remove, IsEmpty());
}

TEST(JobStall, TheJobRestartsAndLeavesTheOnlySuspectsHost) {
  JobObservation job = Running(4);
  job.policy.on_stall = api::OnStall::kRestart;
  Wait(job, 1, kMinute, ProcessActivity::kStopped);
  const JobStep step = NextStep(job);
  ASSERT_TRUE(step.decided);
  EXPECT_FALSE(step.no_progress.exists());
  const api::Incident& incident = step.recovery.incidents.back();
  EXPECT_EQ(incident.cause, api::IncidentCause::kStalled);
  EXPECT_EQ(incident.action, api::OnHostLoss::kRestart);
  EXPECT_TRUE(incident.counted);
  EXPECT_FALSE(incident.blames_host);
  EXPECT_THAT(incident.ranks, ElementsAre(1));
  EXPECT_EQ(incident.host, "n1");
  ASSERT_EQ(step.recovery.avoided.size(), 1u);
  EXPECT_EQ(step.recovery.avoided[0].host, "n1");
  EXPECT_EQ(step.remove.size(), 4u);
}

TEST(JobStall, SeveralSuspectsAndRentedHostsAreNotLeft) {
  JobObservation job = Running(8);
  job.policy.on_stall = api::OnStall::kRestart;
  Wait(job, 1, kMinute, ProcessActivity::kStopped);
  Wait(job, 2, kMinute, ProcessActivity::kStopped);
  JobStep step = NextStep(job);
  EXPECT_TRUE(step.decided);
  EXPECT_THAT(step.recovery.avoided, IsEmpty());
  job.workers[2].progress.reset();
  job.rented = true;
  step = NextStep(job);
  EXPECT_TRUE(step.decided);
  EXPECT_THAT(step.recovery.avoided, IsEmpty());
}

TEST(JobStall, ItRestartsOnceAnHourAndTheSecondTimeBlamesTheHost) {
  JobObservation job = Running(4);
  job.policy.on_stall = api::OnStall::kRestart;
  Wait(job, 1, kMinute, ProcessActivity::kStopped);
  job.recovery = NextStep(job).recovery;
  job.recovery.running_attempt = job.recovery.attempt;
  job.recovery.incidents.back().end_ms = job.now_ms;
  for (Worker& worker : job.workers) worker.attempt = job.recovery.attempt;
  job.now_ms += 50 * kMinute;
  job.running_ms = 49 * kMinute;
  Wait(job, 1, kMinute, ProcessActivity::kStopped);
  JobStep step = NextStep(job);
  EXPECT_FALSE(step.decided);
  EXPECT_THAT(step.no_progress.message, HasSubstr("less than an hour ago"));
  ASSERT_TRUE(step.look_again_ms.has_value());
  EXPECT_LE(*step.look_again_ms, 10 * kMinute + 1'000);
  job.now_ms += 11 * kMinute;
  job.running_ms = 60 * kMinute;
  Wait(job, 1, kMinute, ProcessActivity::kStopped);
  step = NextStep(job);
  ASSERT_TRUE(step.decided);
  EXPECT_TRUE(step.recovery.incidents.back().blames_host);
}

TEST(JobStall, WithoutARestartLeftTheJobFails) {
  JobObservation job = Running(2);
  job.policy.on_stall = api::OnStall::kRestart;
  job.policy.max_restarts = 0;
  Wait(job, 1, kMinute, ProcessActivity::kStopped);
  const JobStep step = NextStep(job);
  ASSERT_TRUE(step.decided);
  EXPECT_EQ(step.recovery.incidents.back().action, api::OnHostLoss::kFail);
}

TEST(JobStall, AJobThatStartsResizesOrRecoversIsNotJudged) {
  JobObservation job = Running(4);
  job.policy.on_stall = api::OnStall::kRestart;
  Wait(job, 1, kMinute, ProcessActivity::kStopped);
  const auto judged = [](const JobObservation& seen) {
    const JobStep step = NextStep(seen);
    return step.decided || step.no_progress.exists();
  };
  ASSERT_TRUE(judged(job));
  JobObservation starts = job;
  starts.workers[2].phase = WorkerPhase::kPending;
  EXPECT_FALSE(judged(starts));
  JobObservation grows = job;
  grows.earlier_ranks = 3;
  EXPECT_FALSE(judged(grows));
  JobObservation ends = job;
  ends.workers[3].phase = WorkerPhase::kSucceeded;
  EXPECT_FALSE(judged(ends));
  JobObservation fresh = job;
  fresh.running_ms = 0;
  EXPECT_FALSE(judged(fresh));
}

}  // namespace
}  // namespace yardmaster::op
