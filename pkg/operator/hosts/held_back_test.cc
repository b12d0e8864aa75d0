#include "pkg/operator/hosts/held_back.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/operator/hosts/host_health.h"

namespace yardmaster::op {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kGraceMs = 120'000;

class HeldBackTest : public ::testing::Test {
 protected:
  HeldBackTest() {
    for (int i = 0; i < 20; ++i) {
      health_.Observe(StrCat("n", i), "s0", HostHealth::Report::kReady, 0);
    }
  }
  static HeldBack By(const std::string& host, const std::string& stays = "") {
    return {host, "50 % of its bandwidth", stays};
  }
  HostVerdict Assess(const std::string& job, const std::string& host, std::int64_t now_ms,
                     const std::string& stays = "") {
    return health_.AssessHeldBack(
        job, host, [&](const HeldBack&) { return stays; }, now_ms);
  }

  HostHealth health_;
};

TEST_F(HeldBackTest, TheHostIsLostToItsJobAloneAndAfterTheGrace) {
  health_.ObserveHeldBack({{"team/a", By("n1")}}, 1'000);
  const HostVerdict early = Assess("team/a", "n1", 2'000);
  EXPECT_EQ(early.state, HostHealthState::kHealthy);
  EXPECT_EQ(early.fault, FaultAction::kDegrade);
  EXPECT_EQ(early.again_ms, kGraceMs - 1'000);
  const HostVerdict late = Assess("team/a", "n1", 1'000 + kGraceMs);
  EXPECT_EQ(late.state, HostHealthState::kLost);
  EXPECT_TRUE(late.reachable()) << "its kubelet ends the pods";
  EXPECT_FALSE(Assess("team/b", "n1", 1'000 + kGraceMs).holds_back);
  EXPECT_FALSE(Assess("team/a", "n2", 1'000 + kGraceMs).holds_back);
  EXPECT_EQ(health_.Assess("n1", 0, 1'000 + kGraceMs).state, HostHealthState::kHealthy);
}

TEST_F(HeldBackTest, WhatStaysSaysWhy) {
  health_.ObserveHeldBack({{"team/a", By("n1", "nothing is free")}}, 0);
  EXPECT_THAT(Assess("team/a", "n1", kGraceMs).fault_name,
              HasSubstr("the job stays there: nothing is free"));
  EXPECT_THAT(Assess("team/a", "n1", kGraceMs, "it is Keep").fault_name, HasSubstr("it is Keep"));
  EXPECT_EQ(Assess("team/a", "n1", kGraceMs).state, HostHealthState::kHealthy);
}

TEST_F(HeldBackTest, APlaneThatFlapsAndAnotherHostBeginTheGraceAgain) {
  std::int64_t now_ms = 0;
  for (int i = 0; i < 100; ++i, now_ms += 10'000) {
    health_.ObserveHeldBack({{"team/a", By("n1")}}, now_ms);
    now_ms += kGraceMs - 1;
    EXPECT_EQ(Assess("team/a", "n1", now_ms).state, HostHealthState::kHealthy);
    health_.ObserveHeldBack({}, now_ms);
    EXPECT_FALSE(Assess("team/a", "n1", now_ms).holds_back);
  }
  health_.ObserveHeldBack({{"team/a", By("n1")}}, now_ms);
  now_ms += kGraceMs;
  health_.ObserveHeldBack({{"team/a", By("n2")}}, now_ms);
  EXPECT_EQ(Assess("team/a", "n2", now_ms).state, HostHealthState::kHealthy);
}

TEST_F(HeldBackTest, TheGraceBeginsWhenTheJobsOwnLimitHoldsItBackNoMore) {
  HeldBack found = By("n1", "every host has that limit");
  found.slow_rank = 1;
  found.limited = true;
  health_.ObserveHeldBack({{"team/a", found}}, 0);
  health_.ObserveHeldBack({{"team/a", found}}, 10 * kGraceMs);
  found.stays = "";
  found.limited = false;
  health_.ObserveHeldBack({{"team/a", found}}, 20 * kGraceMs);
  EXPECT_EQ(Assess("team/a", "n1", 21 * kGraceMs - 1).state, HostHealthState::kHealthy);
  health_.ObserveHeldBack({{"team/a", found}}, 21 * kGraceMs);
  EXPECT_EQ(Assess("team/a", "n1", 21 * kGraceMs).state, HostHealthState::kLost);
}

TEST_F(HeldBackTest, AnotherLeaderBeginsTheGraceAgain) {
  health_.ObserveHeldBack({{"team/a", By("n1")}}, 0);
  health_.Restart(kGraceMs);
  EXPECT_EQ(Assess("team/a", "n1", kGraceMs).state, HostHealthState::kHealthy);
}

TEST_F(HeldBackTest, HostsThatAreLeftAreInTheBoundsUntilTheyHoldNoJobBack) {
  HeldBackByJob jobs;
  for (int i = 0; i < 8; ++i) jobs[StrCat("team/j", i)] = By(StrCat("n", i));
  health_.ObserveHeldBack(jobs, 0);
  const auto lost = [&](std::int64_t now_ms) {
    int count = 0;
    for (int i = 0; i < 8; ++i) {
      const HostVerdict verdict = Assess(StrCat("team/j", i), StrCat("n", i), now_ms);
      count += verdict.state == HostHealthState::kLost ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(lost(kGraceMs), 3) << "of all hosts";
  EXPECT_EQ(lost(kGraceMs), 3) << "the same ones";
  const HostVerdict held = Assess("team/j7", "n7", kGraceMs);
  EXPECT_THAT(held.fault_name, HasSubstr("which is the limit"));
  EXPECT_GT(held.again_ms, 0);
  EXPECT_EQ(health_.Assess("n9", 0, kGraceMs).state, HostHealthState::kHealthy);
  health_.Observe("n9", "s0", HostHealth::Report::kNotReady, kGraceMs);
  EXPECT_EQ(health_.Assess("n9", 0, kGraceMs).state, HostHealthState::kHeld) << "one budget";
  // Their jobs have left.
  for (int i = 0; i < 3; ++i) jobs.erase(StrCat("team/j", i));
  health_.ObserveHeldBack(jobs, kGraceMs + 60'000);
  EXPECT_EQ(health_.Assess("n9", 0, kGraceMs + 60'000).state, HostHealthState::kLost);
}

TEST_F(HeldBackTest, JobsOfWhichSomethingIsNewAreNamed) {
  EXPECT_THAT(health_.ObserveHeldBack({{"team/a", By("n1")}}, 0), ElementsAre("team/a"));
  EXPECT_THAT(health_.ObserveHeldBack({{"team/a", By("n1")}}, 1), IsEmpty());
  EXPECT_THAT(health_.ObserveHeldBack({{"team/a", By("n1", "full")}}, 2), ElementsAre("team/a"));
  EXPECT_THAT(health_.ObserveHeldBack({}, 3), ElementsAre("team/a"));
}

}  // namespace
}  // namespace yardmaster::op
