#include "pkg/agent/profiles/progress_tracker.h"

#include "gtest/gtest.h"

#include "pkg/agent/profiles/progress_verdict.h"

namespace yardmaster::agent {
namespace {

using api::ProgressState;

// A job that sends 1 GB in the last quarter of every period, and heartbeats all the time.
class Job {
 public:
  explicit Job(std::int64_t period_ms) : period_ms_(period_ms) {}

  void Train(std::int64_t for_ms, double gigabytes = 1) {
    for (std::int64_t end = now_ms_ + for_ms; now_ms_ < end;) {
      now_ms_ += 100;
      if (now_ms_ % period_ms_ >= period_ms_ * 3 / 4) {
        sent_ += gigabytes * 1e9 / (static_cast<double>(period_ms_) / 400);
      }
      sent_ += 2'000;
      tracker_.AddTraffic(now_ms_, sent_);
      if (now_ms_ % 30'000 == 0 && now_ms_ >= 120'000) {
        tracker_.AddPeriod(now_ms_, static_cast<double>(period_ms_) / 1000);
      }
    }
  }
  void Pause(std::int64_t for_ms) {
    for (std::int64_t end = now_ms_ + for_ms; now_ms_ < end;) {
      now_ms_ += 100;
      sent_ += 2'000;
      tracker_.AddTraffic(now_ms_, sent_);
    }
  }
  // Nothing is read meanwhile. `gigabytes`: of a period.
  void SendUnread(std::int64_t for_ms, double gigabytes) {
    now_ms_ += for_ms;
    sent_ += gigabytes * 1e9 * static_cast<double>(for_ms) / static_cast<double>(period_ms_);
    tracker_.AddTraffic(now_ms_, sent_);
  }
  void Reset() { sent_ = 0; }
  ProgressFacts Facts() const { return tracker_.At(now_ms_); }
  std::optional<ProgressState> Verdict(
      const std::optional<ProcessSummary>& processes = std::nullopt) const {
    return AssessProgress(Facts(), processes, {});
  }

  ProgressTracker tracker_;
  std::int64_t now_ms_ = 0;

 private:
  const std::int64_t period_ms_;
  double sent_ = 0;
};

TEST(ProgressTracker, HeartbeatsAreNoProgress) {
  Job job(2'000);
  job.Train(200'000);
  EXPECT_TRUE(job.Facts().armed);
  EXPECT_LT(job.Facts().quiet_ms, 3'000);
  job.Pause(59'000);
  EXPECT_EQ(job.Verdict(), ProgressState::kProgressing);
  job.Pause(3'000);
  EXPECT_EQ(job.Verdict(), ProgressState::kWaiting);
  job.Train(5'000);
  EXPECT_EQ(job.Verdict(), ProgressState::kProgressing);
  EXPECT_NEAR(static_cast<double>(job.Facts().longest_pause_ms), 62'000, 3'000);
}

TEST(ProgressTracker, APauseAsLongAsOneBeforeItIsTheJobsOwn) {
  Job job(2'000);
  job.Train(200'000);
  job.Pause(100'000);
  job.Train(100'000);
  job.Pause(140'000);
  EXPECT_EQ(job.Verdict(), ProgressState::kProgressing);
  job.Pause(20'000);
  EXPECT_EQ(job.Verdict(), ProgressState::kWaiting);
}

TEST(ProgressTracker, APauseOfAStoppedProcessIsNot) {
  Job job(2'000);
  job.Train(200'000);
  job.Pause(100'000);
  job.tracker_.DiscountPause();
  job.Train(100'000);
  EXPECT_LT(job.Facts().longest_pause_ms, 3'000);
}

TEST(ProgressTracker, BeforeAPeriodIsKnownNothingIsSaid) {
  Job job(2'000);
  job.Train(100'000);
  job.Pause(500'000);
  EXPECT_FALSE(job.Facts().armed);
  EXPECT_EQ(job.Verdict(), std::nullopt);
}

TEST(ProgressTracker, AJobThatHasLeftItsLoopLongAgoIsNotArmed) {
  Job job(2'000);
  job.Train(200'000);
  for (int i = 0; i < 70; ++i) {
    // It sends now and then, without a period.
    job.Pause(9'000 + 100 * i);
    job.tracker_.AddTraffic(job.now_ms_ += 1'000, 1e15 + 1e9 * i);
  }
  EXPECT_FALSE(job.Facts().armed);
}

TEST(ProgressTracker, APeriodOfEarlierProcessesDoesNotArm) {
  Job job(2'000);
  job.Train(200'000);
  job.tracker_.Restart(job.now_ms_);
  job.Pause(60'000);
  job.tracker_.AddPeriod(job.now_ms_, 2);
  EXPECT_FALSE(job.Facts().armed);
  job.Train(30'000);
  EXPECT_FALSE(job.Facts().armed) << "the window began before";
  job.Train(90'000);
  EXPECT_TRUE(job.Facts().armed);
}

TEST(ProgressTracker, UploadsAtAHigherRateDoNotHideIterations) {
  Job job(2'000);
  job.Train(200'000);
  for (int i = 0; i < 5; ++i) {
    job.Train(10'000, 100);
    job.Train(20'000);
  }
  job.Train(100'000);
  EXPECT_LT(job.Facts().quiet_ms, 3'000);
}

TEST(ProgressTracker, CountersThatAreNotReadOrBeginAnewAreNoStop) {
  Job job(2'000);
  job.Train(200'000);
  EXPECT_FALSE(job.tracker_.At(job.now_ms_ + 100'000).armed) << "not read";
  job.now_ms_ += 100'000;
  job.tracker_.AddTraffic(job.now_ms_, 0);
  EXPECT_EQ(job.Facts().quiet_ms, 0);
}

TEST(ProgressTracker, AHangGoesOnOverAGapInTheReadings) {
  for (const std::int64_t hangs_ms : {70'000, 700'000}) {
    Job job(2'000);
    job.Train(200'000);
    job.Pause(hangs_ms);
    ASSERT_EQ(job.Verdict(), ProgressState::kWaiting);
    job.now_ms_ += 6'000;
    job.Pause(1'000);
    EXPECT_TRUE(job.Facts().armed);
    EXPECT_GE(job.Facts().quiet_ms, hangs_ms);
    EXPECT_EQ(job.Verdict(), ProgressState::kWaiting);
  }
}

TEST(ProgressTracker, WhatWasSentInAGapIsProgress) {
  Job job(2'000);
  job.Train(200'000);
  job.Pause(10'000);
  job.SendUnread(60'000, 0.5);
  EXPECT_EQ(job.Facts().quiet_ms, 0);
  EXPECT_NEAR(static_cast<double>(job.Facts().longest_pause_ms), 10'000, 2'000)
      << "what was not read is no pause";
}

TEST(ProgressTracker, ACounterThatGoesBackwardsIsNoProgress) {
  Job job(2'000);
  job.Train(200'000);
  job.Pause(700'000);
  job.Reset();
  job.Pause(1'000);
  EXPECT_GE(job.Facts().quiet_ms, 700'000);
  EXPECT_EQ(job.Verdict(), ProgressState::kWaiting);
  job.Train(3'000);
  EXPECT_LT(job.Facts().quiet_ms, 3'000);
}

TEST(ProgressTracker, ReportsOfTheProcessCountInsteadOfTraffic) {
  ProgressTracker tracker;
  std::int64_t now_ms = 0;
  for (int i = 0; i < 4; ++i) tracker.AddReport(now_ms += 10'000);
  EXPECT_FALSE(tracker.At(now_ms).armed);
  for (int i = 0; i < 20; ++i) tracker.AddReport(now_ms += 10'000);
  tracker.AddTraffic(now_ms + 5'000, 1e12);
  const ProgressFacts facts = tracker.At(now_ms + 40'000);
  EXPECT_TRUE(facts.armed);
  EXPECT_EQ(facts.quiet_ms, 40'000);
  EXPECT_EQ(facts.iteration_ms, 10'000);
  EXPECT_EQ(facts.longest_pause_ms, 10'000);
}

TEST(AssessProgress, ThatIsStoppedWaitsSoonerAndThatHasRestartedNever) {
  Job job(2'000);
  job.Train(200'000);
  job.Pause(22'000);
  EXPECT_EQ(job.Verdict(), ProgressState::kProgressing);
  EXPECT_EQ(job.Verdict(ProcessSummary{api::ProcessActivity::kBusy, false}),
            ProgressState::kProgressing);
  EXPECT_EQ(job.Verdict(ProcessSummary{api::ProcessActivity::kStopped, false}),
            ProgressState::kWaiting);
  EXPECT_EQ(job.Verdict(ProcessSummary{api::ProcessActivity::kUninterruptible, false}),
            ProgressState::kProgressing)
      << "it may write a checkpoint";
  job.Pause(500'000);
  EXPECT_EQ(job.Verdict(ProcessSummary{api::ProcessActivity::kIdle, true}), std::nullopt);
}

TEST(AssessProgress, LongIterationsAreWaitedFor) {
  ProgressFacts facts{true, 100'000, 24'000, 30'000};
  EXPECT_EQ(AssessProgress(facts, std::nullopt, {}), ProgressState::kProgressing);
  facts.quiet_ms = 35'000;
  const ProcessSummary stopped{api::ProcessActivity::kStopped, false};
  EXPECT_EQ(AssessProgress(facts, stopped, {}), ProgressState::kProgressing);
  facts.quiet_ms = 36'000;
  EXPECT_EQ(AssessProgress(facts, stopped, {}), ProgressState::kWaiting);
}

}  // namespace
}  // namespace yardmaster::agent
