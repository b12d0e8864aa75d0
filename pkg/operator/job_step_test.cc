#include "pkg/operator/job_step.h"

#include "gtest/gtest.h"

namespace yardmaster::op {
namespace {

Worker On(WorkerPhase phase, std::optional<std::int64_t> lost_ms = std::nullopt) {
  return {phase, false, "uid", "host", lost_ms};
}

TEST(JobStepTest, MissingWorkersAreMade) {
  const JobStep step = NextStep({{Worker{}, On(WorkerPhase::kRunning), Worker{}}}, {});
  EXPECT_EQ(step.create, (std::vector<int>{0, 2}));
  EXPECT_EQ(step.ready, 1);
  EXPECT_EQ(step.waiting, 2);
  EXPECT_TRUE(step.remove.empty());
}

TEST(JobStepTest, AWorkerOnALostHostIsRemovedByForceWhenItsTimeIsUpAndNotBefore) {
  const RecoveryPolicy policy{HostLoss::kReplace, 10'000, 3};
  JobStep step = NextStep({{On(WorkerPhase::kRunning, 4'000)}}, policy);
  EXPECT_TRUE(step.remove.empty());
  EXPECT_EQ(step.look_again_ms, 6'000);
  EXPECT_EQ(step.ready, 0);
  step = NextStep({{On(WorkerPhase::kRunning, 10'000)}}, policy);
  ASSERT_EQ(step.remove.size(), 1u);
  EXPECT_TRUE(step.remove[0].force);
  EXPECT_EQ(step.remove[0].cause, RemovalCause::kHostLost);
  EXPECT_EQ(step.restarts, 0) << "a lost host is not the job's failure";
}

TEST(JobStepTest, ByPolicyALostHostRestartsEveryWorkerOrFailsTheJob) {
  const JobObservation job{
      {On(WorkerPhase::kRunning, 99'000), On(WorkerPhase::kRunning), On(WorkerPhase::kSucceeded)}};
  JobStep step = NextStep(job, {HostLoss::kRestart, 1000, 3});
  ASSERT_EQ(step.remove.size(), 2u);
  EXPECT_TRUE(step.remove[0].force);
  EXPECT_FALSE(step.remove[1].force);
  EXPECT_EQ(step.outcome, JobOutcome::kRunning);
  step = NextStep(job, {HostLoss::kFail, 1000, 3});
  EXPECT_EQ(step.outcome, JobOutcome::kFailed);
  EXPECT_TRUE(step.failed_by_host);
  EXPECT_EQ(step.remove.size(), 2u);
}

TEST(JobStepTest, ATerminatingPodOfALostHostIsStillRemovedByForce) {
  Worker worker = On(WorkerPhase::kRunning, 99'000);
  worker.deleting = true;  // nobody is there to end it
  EXPECT_EQ(NextStep({{worker}}, {}).remove.size(), 1u);
}

TEST(JobStepTest, AFailedWorkerIsMadeAgainWhileRestartsAreLeft) {
  const RecoveryPolicy policy{HostLoss::kReplace, 0, 1};
  JobStep step = NextStep({{On(WorkerPhase::kFailed), On(WorkerPhase::kRunning)}, 0}, policy);
  EXPECT_EQ(step.remove.size(), 1u);
  EXPECT_EQ(step.restarts, 1);
  EXPECT_EQ(step.outcome, JobOutcome::kRunning);
  step = NextStep({{On(WorkerPhase::kFailed), On(WorkerPhase::kRunning)}, 1}, policy);
  EXPECT_EQ(step.outcome, JobOutcome::kFailed);
  EXPECT_TRUE(step.create.empty());
  ASSERT_EQ(step.remove.size(), 1u);
  EXPECT_EQ(step.remove[0].rank, 1);
  EXPECT_EQ(step.remove[0].cause, RemovalCause::kJobFailed);
}

TEST(JobStepTest, AFailedPodThatIsBeingDeletedIsCountedOnce) {
  Worker worker = On(WorkerPhase::kFailed);
  worker.deleting = true;
  const JobStep step = NextStep({{worker}, 1}, {HostLoss::kReplace, 0, 5});
  EXPECT_EQ(step.restarts, 1);
  EXPECT_TRUE(step.remove.empty());
}

TEST(JobStepTest, TheJobSucceedsWhenEveryWorkerHas) {
  EXPECT_EQ(NextStep({{On(WorkerPhase::kSucceeded), On(WorkerPhase::kRunning)}}, {}).outcome,
            JobOutcome::kRunning);
  EXPECT_EQ(NextStep({{On(WorkerPhase::kSucceeded), On(WorkerPhase::kSucceeded)}}, {}).outcome,
            JobOutcome::kSucceeded);
}

TEST(JobStepTest, AnEndedJobMakesNobodyAgain) {
  const JobStep step = NextStep({{Worker{}, Worker{}}, 0, true}, {});
  EXPECT_TRUE(step.create.empty());
  EXPECT_TRUE(step.remove.empty());
}

}  // namespace
}  // namespace yardmaster::op
