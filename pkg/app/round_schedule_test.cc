#include "pkg/app/round_schedule.h"

#include <vector>

#include "gtest/gtest.h"

#include "pkg/base/clock.h"

namespace yardmaster::app {
namespace {

// Lets time pass in steps of 10 ms and writes down when rounds were made.
class RoundScheduleTest : public ::testing::Test {
 protected:
  template <typename Step>
  std::vector<std::int64_t> RoundsUntil(std::int64_t end_ms, Step step) {
    std::vector<std::int64_t> rounds;
    for (; clock_.SteadyMs() < end_ms; clock_.Advance(10)) {
      const std::int64_t now = clock_.SteadyMs();
      step(now);
      if (schedule_.WaitMs(now) > 0) continue;
      rounds.push_back(now);
      schedule_.Begin(now);
    }
    return rounds;
  }

  FakeClock clock_;
  RoundSchedule schedule_{{.quiet_ms = 100, .max_delay_ms = 1'000, .resync_ms = 60'000}};
};

TEST_F(RoundScheduleTest, AChangeIsActedOnAfterTheShortestDelayAndABurstOnce) {
  const auto rounds = RoundsUntil(5'000, [this](std::int64_t now) {
    if (now == 1'000 || (now >= 2'000 && now <= 2'050)) schedule_.Changed(now);
  });
  EXPECT_EQ(rounds, (std::vector<std::int64_t>{0, 1'100, 2'150}));
}

TEST_F(RoundScheduleTest, UnderConstantChangeRoundsAreOneLongestDelayApart) {
  const auto rounds = RoundsUntil(5'500, [this](std::int64_t now) { schedule_.Changed(now); });
  ASSERT_EQ(rounds.size(), 6u);
  for (std::size_t i = 1; i < rounds.size(); ++i) {
    // A change comes with the next step after a round, 10 ms later.
    EXPECT_LE(rounds[i] - rounds[i - 1], 1'010);
    EXPECT_GE(rounds[i] - rounds[i - 1], 1'000);
  }
}

TEST_F(RoundScheduleTest, WithoutChangesThereIsTheResyncAndWhatARoundAskedFor) {
  const auto rounds = RoundsUntil(130'000, [this](std::int64_t now) {
    if (now == 10'000) schedule_.RequestAt(now + 3'000);
    if (now == 11'000) schedule_.RequestAt(now + 30'000);
  });
  EXPECT_EQ(rounds, (std::vector<std::int64_t>{0, 13'000, 73'000}));
}

TEST_F(RoundScheduleTest, RoundsThatTakeLongLeaveThreeQuartersOfTheTimeAlone) {
  const auto rounds = RoundsUntil(5'000, [this](std::int64_t now) { schedule_.Changed(now); });
  ASSERT_FALSE(rounds.empty());
  std::int64_t busy_ms = 0;
  const std::int64_t begin_ms = clock_.SteadyMs();
  while (clock_.SteadyMs() < begin_ms + 60'000) {
    schedule_.Changed(clock_.SteadyMs());
    if (schedule_.WaitMs(clock_.SteadyMs()) > 0) {
      clock_.Advance(10);
      continue;
    }
    schedule_.Begin(clock_.SteadyMs());
    clock_.Advance(700);
    busy_ms += 700;
    schedule_.End(clock_.SteadyMs());
  }
  EXPECT_LE(busy_ms, 60'000 / 4 + 700);
  EXPECT_GE(busy_ms, 60'000 / 5);
}

TEST_F(RoundScheduleTest, ThePauseAfterALongRoundIsBounded) {
  schedule_.Begin(clock_.SteadyMs());
  clock_.Advance(20'000);
  schedule_.End(clock_.SteadyMs());
  schedule_.Changed(clock_.SteadyMs());
  EXPECT_EQ(schedule_.WaitMs(clock_.SteadyMs()), RoundTimes{}.max_pause_ms);
  schedule_.SkipPause();
  EXPECT_EQ(schedule_.WaitMs(clock_.SteadyMs()), 100) << "the shortest delay";
}

TEST_F(RoundScheduleTest, TimeInWhichARoundWaitedForOthersMakesNoPause) {
  schedule_.Begin(clock_.SteadyMs());
  clock_.Advance(1'000);
  schedule_.End(clock_.SteadyMs(), 950);
  schedule_.RequestAt(clock_.SteadyMs());
  EXPECT_EQ(schedule_.WaitMs(clock_.SteadyMs()), 150);
}

TEST_F(RoundScheduleTest, AnUrgentChangeWaitsNeitherForQuietNorForThePause) {
  const auto rounds = RoundsUntil(900, [this](std::int64_t now) {
    schedule_.Changed(now);  // they do not end
    if (now == 500 || now == 510) schedule_.Urgent(now);
  });
  EXPECT_EQ(rounds, (std::vector<std::int64_t>{0, 520}));
  schedule_.Begin(clock_.SteadyMs());
  clock_.Advance(20'000);
  schedule_.End(clock_.SteadyMs());
  schedule_.Urgent(clock_.SteadyMs());
  EXPECT_EQ(schedule_.WaitMs(clock_.SteadyMs()), 20);
}

TEST_F(RoundScheduleTest, AChangeBeforeItIsQuietPutsTheRoundOff) {
  schedule_.Begin(0);
  schedule_.Changed(1'000);
  EXPECT_EQ(schedule_.WaitMs(1'030), 70);
  schedule_.Changed(1'050);
  EXPECT_EQ(schedule_.WaitMs(1'100), 50);
  EXPECT_EQ(schedule_.WaitMs(1'150), 0);
  EXPECT_TRUE(schedule_.has_changes());
  schedule_.Begin(1'150);
  EXPECT_FALSE(schedule_.has_changes());
}

TEST_F(RoundScheduleTest, WithEqualDelaysMoreChangesDoNotMoveTheRound) {
  RoundSchedule schedule({.quiet_ms = 20, .max_delay_ms = 20, .resync_ms = 5'000});
  schedule.Begin(0);
  schedule.Changed(1'000);
  schedule.Changed(1'015);
  EXPECT_EQ(schedule.WaitMs(1'015), 5);
}

TEST_F(RoundScheduleTest, APauseAsLongAsTheRoundLeavesHalfOfTheTimeAlone) {
  RoundSchedule schedule({.quiet_ms = 20,
                          .max_delay_ms = 20,
                          .resync_ms = 5'000,
                          .pause_share = 1,
                          .max_pause_ms = 500});
  schedule.Begin(0);
  schedule.End(200);
  schedule.Changed(200);
  EXPECT_EQ(schedule.WaitMs(200), 200);
  schedule.Begin(400);
  schedule.End(2'400);
  schedule.Changed(2'400);
  EXPECT_EQ(schedule.WaitMs(2'400), 500);
}

TEST_F(RoundScheduleTest, WhatShortensThePauseWaitsForAsLongAsTheRoundTook) {
  schedule_.Begin(0);
  schedule_.End(700);
  schedule_.RequestAt(800);
  EXPECT_EQ(schedule_.WaitMs(700), 2'100);
  schedule_.ShortenPause();
  EXPECT_EQ(schedule_.WaitMs(700), 700);
  schedule_.Begin(1'400);
  schedule_.End(2'100);
  schedule_.RequestAt(2'200);
  EXPECT_EQ(schedule_.WaitMs(2'100), 2'100) << "once";
}

TEST_F(RoundScheduleTest, AfterARunThatBrokeOffThePauseIsNotShortened) {
  schedule_.Begin(0);
  schedule_.End(10);
  RunResult result;
  result.Fail("", Contain([] { throw 1; }));
  result.Again(2'000);
  schedule_.Take(result, 10);
  schedule_.ShortenPause();
  schedule_.Changed(10);
  EXPECT_EQ(schedule_.WaitMs(10), 2'000);
}

TEST_F(RoundScheduleTest, AfterARunThatBrokeOffNoChangeBringsTheNextOneForward) {
  schedule_.Begin(0);
  RunResult result;
  result.Fail("", Contain([] { throw 1; }));
  result.Again(2'000);
  schedule_.Take(result, 0);
  schedule_.Changed(0);
  EXPECT_EQ(schedule_.WaitMs(0), 2'000);
  RunResult refused;
  refused.Fail("team/a", absl::UnavailableError("no answer"));
  refused.Again(500);
  schedule_.Begin(2'000);
  schedule_.Take(refused, 2'000);
  schedule_.Changed(2'000);
  EXPECT_EQ(schedule_.WaitMs(2'000), 100);
  EXPECT_TRUE(BrokeOff(result));
  EXPECT_FALSE(BrokeOff(refused));
}

// One gang that cannot be handled holds up no other.
TEST_F(RoundScheduleTest, WhatThrowsForOneObjectDelaysNoChange) {
  schedule_.Begin(0);
  RunResult result;
  result.Fail("Gang team/a", Contain([] { throw 1; }));
  result.Again(60'000);
  EXPECT_FALSE(BrokeOff(result));
  schedule_.Take(result, 0);
  schedule_.Changed(0);
  EXPECT_EQ(schedule_.WaitMs(0), 100);
}

}  // namespace
}  // namespace yardmaster::app
