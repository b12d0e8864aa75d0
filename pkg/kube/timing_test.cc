#include "pkg/kube/timing.h"

#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/kube/testing/fake_sleeper.h"

namespace yardmaster::kube {
namespace {

constexpr std::int64_t kNoDeadline = 1'000'000'000;

TEST(BackoffTest, DelaysDoubleFromPointEightToThirtySecondsWithJitter) {
  JitteredBackoff backoff(1);
  std::int64_t base = 800;
  for (int i = 0; i < 12; ++i) {
    const std::int64_t delay = backoff.NextMs();
    EXPECT_GE(delay, base);
    EXPECT_LT(delay, 2 * base);
    base = std::min<std::int64_t>(base * 2, 30'000);
  }
  backoff.Reset();
  EXPECT_LT(backoff.NextMs(), 1600);
}

TEST(BackoffTest, TheSameSeedGivesTheSameDelaysAndAnotherSeedOthers) {
  JitteredBackoff a(1);
  JitteredBackoff b(1);
  JitteredBackoff c(2);
  bool differs = false;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t delay = a.NextMs();
    EXPECT_EQ(delay, b.NextMs());
    differs |= delay != c.NextMs();
  }
  EXPECT_TRUE(differs);
}

TEST(RateLimiterTest, ABurstPassesAndThenTheRateHolds) {
  FakeClock clock;
  FakeSleeper sleeper(clock, FakeSleeper::Mode::kAdvance);
  RateLimiter limiter(10, 3, clock, sleeper);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(limiter.Wait(kNoDeadline, {}).ok());
  EXPECT_THAT(sleeper.slept(), testing::ElementsAre(100, 100, 100, 100, 100));
}

TEST(RateLimiterTest, ACallThatWouldWaitPastItsDeadlineFailsAtOnceAndTakesNothing) {
  FakeClock clock;
  FakeSleeper sleeper(clock, FakeSleeper::Mode::kAdvance);
  RateLimiter limiter(1, 1, clock, sleeper);
  ASSERT_TRUE(limiter.Wait(kNoDeadline, {}).ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(limiter.Wait(clock.SteadyMs() + 500, {})));
  EXPECT_TRUE(sleeper.slept().empty());
  clock.Advance(1000);
  EXPECT_TRUE(limiter.Wait(clock.SteadyMs(), {}).ok());
}

TEST(RateLimiterTest, ZeroMeansNoLimit) {
  FakeClock clock;
  FakeSleeper sleeper(clock, FakeSleeper::Mode::kAdvance);
  RateLimiter limiter(0, 1, clock, sleeper);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(limiter.Wait(0, {}).ok());
  EXPECT_TRUE(sleeper.slept().empty());
}

TEST(SleeperTest, AStopEndsASleepAtOnce) {
  RealSleeper sleeper;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(sleeper.Sleep(3'600'000, stop.get_token()));
  EXPECT_TRUE(sleeper.Sleep(1, {}));
}

TEST(SleeperTest, AManualSleepLastsUntilTheClockHasMovedThatFar) {
  FakeClock clock;
  FakeSleeper sleeper(clock, FakeSleeper::Mode::kManual);
  std::int64_t woke_at = -1;
  std::jthread thread([&] {
    sleeper.Sleep(100, {});
    woke_at = clock.SteadyMs();
  });
  sleeper.WaitForSleepers(1);
  sleeper.Advance(60);
  sleeper.WaitForSleepers(1);
  sleeper.Advance(60);
  thread.join();
  EXPECT_EQ(woke_at, 120);
}

}  // namespace
}  // namespace yardmaster::kube
