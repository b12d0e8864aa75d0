#include "pkg/operator/hosts/host_health.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::op {
namespace {

using Report = HostHealth::Report;

void ObserveAll(HostHealth& health, int from, int to, Report report, std::int64_t now_ms,
                int per_segment = 1000) {
  for (int i = from; i < to; ++i) {
    health.Observe(StrCat("n", i), StrCat("s", i / per_segment), report, now_ms);
  }
}

int CountLost(HostHealth& health, int from, int to, std::int64_t now_ms) {
  int lost = 0;
  for (int i = from; i < to; ++i) {
    lost += health.Assess(StrCat("n", i), 10'000, now_ms).state == HostHealthState::kLost ? 1 : 0;
  }
  return lost;
}

TEST(HostHealthTest, AHostIsLostAfterItsGraceAndHealthyAgainWhenReady) {
  HostHealth health;
  ObserveAll(health, 0, 10, Report::kReady, 0);
  EXPECT_EQ(health.Assess("n1", 10'000, 0).state, HostHealthState::kHealthy);
  health.Observe("n1", "s0", Report::kNotReady, 1'000);
  const HostVerdict early = health.Assess("n1", 10'000, 4'000);
  EXPECT_EQ(early.state, HostHealthState::kNotReady);
  EXPECT_EQ(early.again_ms, 7'000);
  EXPECT_EQ(health.Assess("n1", 10'000, 11'000).state, HostHealthState::kLost);
  health.Observe("n1", "s0", Report::kReady, 12'000);
  EXPECT_EQ(health.Assess("n1", 10'000, 12'000).state, HostHealthState::kHealthy);
}

TEST(HostHealthTest, AHostIsLostToEachJobAfterItsOwnGrace) {
  HostHealth health;
  ObserveAll(health, 0, 10, Report::kReady, 0);
  health.Observe("n1", "s0", Report::kNotReady, 0);
  EXPECT_EQ(health.Assess("n1", 10'000, 10'000).state, HostHealthState::kLost);
  const HostVerdict patient = health.Assess("n1", 60'000, 10'000);
  EXPECT_EQ(patient.state, HostHealthState::kNotReady);
  EXPECT_EQ(patient.again_ms, 50'000);
  EXPECT_EQ(health.Assess("n1", 60'000, 60'000).state, HostHealthState::kLost);
}

TEST(HostHealthTest, AHostThatIsDrainedAndThenNotReadyIsCountedOnce) {
  HostHealth health;
  ObserveAll(health, 0, 8, Report::kReady, 0);
  for (const char* name : {"n0", "n1"}) {
    health.ObserveFaults(name, {{"condition KernelDeadlock True", FaultAction::kReplace, 0}}, 0);
    EXPECT_EQ(health.Assess(name, 10'000, 1'000).state, HostHealthState::kLost);
  }
  EXPECT_EQ(health.Assess("n0", 10'000, 1'000).reachable(), true);
  health.Observe("n0", "s0", Report::kNotReady, 2'000);
  const HostVerdict verdict = health.Assess("n0", 10'000, 12'000);
  EXPECT_EQ(verdict.state, HostHealthState::kLost) << verdict.reason;
  EXPECT_EQ(verdict.reachable(), false) << "its kubelet ends no pod any more";
}

TEST(HostHealthTest, HostsThatPodsNameAndThatHaveNoNodeAreNoReasonToDistrustOthers) {
  HostHealth health;
  ObserveAll(health, 0, 10, Report::kReady, 0);
  health.Observe("n1", "s0", Report::kNotReady, 0);
  const auto lost_without_node = [&](std::int64_t now_ms) {
    int lost = 0;
    for (int i = 0; i < 20; ++i) {
      lost +=
          health.Assess(StrCat("forged-", i), 0, now_ms).state == HostHealthState::kLost ? 1 : 0;
    }
    return lost;
  };
  EXPECT_GT(lost_without_node(0), 0);
  EXPECT_LE(lost_without_node(1'000), 3) << "they are bounded among themselves";
  const HostVerdict verdict = health.Assess("n1", 10'000, 10'000);
  EXPECT_EQ(verdict.state, HostHealthState::kLost) << verdict.reason;
}

TEST(HostHealthTest, WhatCannotBeReadIsHealthyAndWhatIsGoneIsNot) {
  HostHealth health;
  ObserveAll(health, 0, 10, Report::kReady, 0);
  health.Observe("n1", "s0", Report::kUnknown, 0);
  health.Observe("n2", "s0", Report::kGone, 0);
  EXPECT_EQ(health.Assess("n1", 10'000, 99'000).state, HostHealthState::kHealthy);
  EXPECT_EQ(health.Assess("n2", 10'000, 99'000).state, HostHealthState::kLost);
}

TEST(HostHealthTest, TimesAndCountsBeginAgainWithRestart) {
  HostHealth health;
  ObserveAll(health, 0, 10, Report::kReady, 0);
  health.Observe("n1", "s0", Report::kNotReady, 0);
  health.Restart(60'000);
  EXPECT_EQ(health.Assess("n1", 10'000, 60'000).again_ms, 10'000);
}

TEST(HostHealthTest, NoHostIsLostWhileALargeShareIsNotReady) {
  HostHealth health;
  ObserveAll(health, 0, 100, Report::kReady, 0);
  ObserveAll(health, 0, 21, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(health, 0, 21, 99'000), 0);
  EXPECT_NE(health.Assess("n0", 10'000, 99'000).reason.find("21 of 100"), std::string::npos);
  health.Observe("n20", "s0", Report::kReady, 99'000);
  EXPECT_EQ(CountLost(health, 0, 20, 99'000), 4) << "four a minute";
}

TEST(HostHealthTest, AllHostsOfASmallClusterAreNotLostTogether) {
  HostHealth health;
  ObserveAll(health, 0, 2, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(health, 0, 2, 99'000), 0);
}

TEST(HostHealthTest, RentedHostsThatWereGivenBackAreNoReasonToDistrustOthers) {
  HostHealth health;
  ObserveAll(health, 0, 4, Report::kReady, 0);
  for (int i = 0; i < 20; ++i) {
    health.Observe(StrCat("rented-", i), "s1", Report::kReady, 0, true);
    health.Observe(StrCat("rented-", i), "", Report::kGone, 1'000);
  }
  health.Observe("n1", "s0", Report::kNotReady, 2'000);
  EXPECT_EQ(health.Assess("n1", 10'000, 99'000).state, HostHealthState::kLost);
  // While it is there, a rented host is a host as any other.
  for (int i = 0; i < 3; ++i) {
    health.Observe(StrCat("other-", i), StrCat("s", 2 + i), Report::kNotReady, 99'000, true);
  }
  EXPECT_EQ(health.Assess("other-0", 10'000, 199'000).state, HostHealthState::kHeld);
}

TEST(HostHealthTest, WhatHasBeenGoneForLongIsForgotten) {
  constexpr std::int64_t kHourMs = 3'600'000;
  HostHealth health;
  ObserveAll(health, 0, 40, Report::kReady, 0, 10);
  for (const char* name : {"n1", "n2"}) health.Observe(name, "", Report::kGone, 0);
  EXPECT_EQ(health.Assess("n1", 10'000, 99'000).state, HostHealthState::kLost);
  health.Observe("n3", "", Report::kGone, kHourMs + 1);
  EXPECT_EQ(health.Assess("n1", 10'000, kHourMs + 1).state, HostHealthState::kNotReady)
      << "as a host of that name that was never seen";
  EXPECT_EQ(health.Assess("n3", 10'000, kHourMs + 20'000).state, HostHealthState::kLost);
  // Its segment has forgotten it, too.
  ObserveAll(health, 4, 10, Report::kNotReady, 2 * kHourMs, 10);
  EXPECT_EQ(health.AssessSegments(2 * kHourMs + 99'000).size(), 1U);
  EXPECT_EQ(health.HostsOfLostPlaces().size(), 8U);
}

TEST(HostHealthTest, ASegmentAndTheFabricLoseNoMoreThanTheirShares) {
  HostHealth health({.per_minute = 1000});
  ObserveAll(health, 0, 100, Report::kReady, 0, 10);
  ObserveAll(health, 0, 7, Report::kNotReady, 0, 10);
  EXPECT_EQ(CountLost(health, 0, 10, 99'000), 2) << "of one segment";
  ObserveAll(health, 0, 10, Report::kReady, 99'000, 10);
  for (int i = 0; i < 100; i += 6) {
    health.Observe(StrCat("n", i), StrCat("s", i / 10), Report::kNotReady, 99'000);
  }
  EXPECT_EQ(CountLost(health, 0, 100, 200'000), 10) << "of all";
}

TEST(HostHealthTest, ManyHostsOfALargeFabricAreReplacedAtOnce) {
  HostHealth health;
  ObserveAll(health, 0, 5'000, Report::kReady, 0, 128);
  for (int i = 0; i < 20; ++i) {
    health.Observe(StrCat("n", i * 200), StrCat("s", i * 200 / 128), Report::kNotReady, 0);
  }
  int lost = 0;
  for (int i = 0; i < 20; ++i) {
    lost +=
        health.Assess(StrCat("n", i * 200), 10'000, 10'000).state == HostHealthState::kLost ? 1 : 0;
  }
  EXPECT_EQ(lost, 20);
}

}  // namespace
}  // namespace yardmaster::op
