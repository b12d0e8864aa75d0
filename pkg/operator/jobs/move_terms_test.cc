#include "pkg/operator/jobs/move_terms.h"

#include <gtest/gtest.h>

namespace yardmaster::op {
namespace {

constexpr std::int64_t kNowMs = 1'800'000'000'000;

// It has run for an hour, writes a checkpoint each half hour, and restarts in 100 s.
api::TrainingJob RunningJob() {
  api::TrainingJob job;
  job.job.workers = 4;
  job.capacity.restart_seconds = 100;
  job.checkpoint.interval_seconds = 1800;
  api::Condition running;
  running.type = "Running";
  running.status = api::ConditionStatus::kTrue;
  running.transition_ms = kNowMs - 3'600'000;
  job.status.conditions = {running};
  return job;
}

TEST(MoveTermsTest, AMoveCostsTheRestartAndTheWorkSinceTheLastCheckpoint) {
  api::TrainingJob job = RunningJob();
  job.status.checkpoint.last_ms = kNowMs - 60'000;
  const plan::MoveTerms terms = MoveTermsOf(job, kNowMs);
  EXPECT_TRUE(terms.movable);
  EXPECT_EQ(terms.lost_seconds, 160);
}

TEST(MoveTermsTest, WithoutAReportHalfOfTheIntervalIsLost) {
  api::TrainingJob job = RunningJob();
  EXPECT_EQ(MoveTermsOf(job, kNowMs).lost_seconds, 100 + 900);
  // Of an earlier run of the job.
  job.status.checkpoint.last_ms = kNowMs - 7'200'000;
  EXPECT_EQ(MoveTermsOf(job, kNowMs).lost_seconds, 100 + 900);
  job.status.conditions[0].transition_ms = kNowMs - 1'200'000;
  EXPECT_EQ(MoveTermsOf(job, kNowMs).lost_seconds, 100 + 600) << "it has not run for longer";
}

TEST(MoveTermsTest, AnIntervalThatIsNotKnownIsTheOneThatLosesLeast) {
  api::TrainingJob job = RunningJob();
  job.checkpoint.interval_seconds = 0;
  job.status.conditions.clear();
  const double best = MoveTermsOf(job, 0).lost_seconds - 100;
  EXPECT_GT(best, 600) << "at one failure in 1,250 hours and a minute for a checkpoint";
  EXPECT_LT(best, 4 * 3600);
  job.status.checkpoint.interval_seconds = 1000;
  EXPECT_EQ(MoveTermsOf(job, 0).lost_seconds, 100 + 500) << "recommended";
}

TEST(MoveTermsTest, AJobInAManifestRuns) {
  api::TrainingJob job = RunningJob();
  job.status.conditions.clear();
  EXPECT_TRUE(MoveTermsOf(job, 0).movable);
  EXPECT_EQ(MoveTermsOf(job, 0).lost_seconds, 100 + 900);
}

// Whatever was asked for, and refused, since.
TEST(MoveTermsTest, AJobIsNotMovedAgainForAnHour) {
  api::TrainingJob job = RunningJob();
  job.status.move.state = api::JobMoveState::kRefused;
  for (const std::int64_t ago_ms : {std::int64_t{-2'000}, std::int64_t{0}, kMoveAgainMs - 1}) {
    job.status.move.record.last_ms = kNowMs - ago_ms;
    EXPECT_FALSE(MoveTermsOf(job, kNowMs).movable) << ago_ms;
  }
  job.status.move.record.last_ms = kNowMs - kMoveAgainMs;
  EXPECT_TRUE(MoveTermsOf(job, kNowMs).movable);
  job.status.move.record.last_ms = kNowMs + kMoveAgainMs;
  EXPECT_TRUE(MoveTermsOf(job, kNowMs).movable) << "it was written by a clock that was wrong";
}

TEST(MoveTermsTest, AJobThatMayNotOrCannotBeMovedIsNotMovable) {
  for (const auto& edit : std::vector<void (*)(api::TrainingJob&)>{
           [](api::TrainingJob& job) { job.run.movable = api::Movable::kNever; },
           [](api::TrainingJob& job) { job.run.suspended = true; },
           [](api::TrainingJob& job) { job.run.managed_by = "kueue.x-k8s.io/multikueue"; },
           [](api::TrainingJob& job) { job.metadata.deleted_ms = kNowMs; },
           [](api::TrainingJob& job) {
             job.status.conditions[0].status = api::ConditionStatus::kFalse;
           },
           [](api::TrainingJob& job) {
             job.status.conditions[0].transition_ms = kNowMs - kLeastRunMs + 1;
           },
           [](api::TrainingJob& job) {
             job.status.conditions.push_back(job.status.conditions[0]);
             job.status.conditions[1].type = "Succeeded";
           }}) {
    api::TrainingJob job = RunningJob();
    ASSERT_TRUE(MoveTermsOf(job, kNowMs).movable);
    edit(job);
    EXPECT_FALSE(MoveTermsOf(job, kNowMs).movable);
  }
}

}  // namespace
}  // namespace yardmaster::op
