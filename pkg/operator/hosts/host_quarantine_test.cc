#include "pkg/operator/hosts/host_quarantine.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::op {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000;
constexpr std::int64_t kMinute = 60'000;

class HostQuarantineTest : public ::testing::Test {
 protected:
  HostQuarantineTest() {
    for (int i = 0; i < 40; ++i) hosts_[StrCat("n", i)].segment = StrCat("p0/s", i / 20);
  }
  void Fail(const std::string& host, const std::string& job, std::int64_t attempt,
            std::int64_t time_ms = kNow) {
    hosts_[host].reported.push_back({job, "uid-" + job, attempt, 0, 134, time_ms});
  }
  void Slow(const std::string& host, const std::string& job, std::int64_t attempt) {
    hosts_[host].reported.push_back({job, "uid-" + job, attempt, 0, std::nullopt, kNow, true});
  }
  // As the operator would: the records are written, then looked at again.
  void Step(std::int64_t now_ms = kNow) {
    for (auto& [name, record] : NextRecords(hosts_, limits_, now_ms)) hosts_[name].record = record;
  }
  bool IsQuarantined(const std::string& host, std::int64_t now_ms = kNow) {
    return hosts_[host].record.until_ms > now_ms;
  }

  QuarantineLimits limits_;
  std::map<std::string, HostHistory> hosts_;
};

TEST_F(HostQuarantineTest, AHostIsQuarantinedAfterThreeFailuresAndNotBefore) {
  Fail("n1", "team/a", 1);
  Fail("n1", "team/a", 2);
  Step();
  EXPECT_FALSE(IsQuarantined("n1"));
  Fail("n1", "team/a", 3);
  Step();
  EXPECT_TRUE(IsQuarantined("n1"));
  EXPECT_EQ(hosts_["n1"].record.until_ms, kNow + 30 * kMinute);
  EXPECT_FALSE(IsQuarantined("n1", kNow + 30 * kMinute));
}

TEST_F(HostQuarantineTest, NoNumberOfSlowReportsOfOneNamespaceQuarantines) {
  for (int i = 1; i <= 12; ++i) {
    Slow("n1", StrCat("team/j", i), 1);
    Slow("n1", "team/again", i);
  }
  Step();
  EXPECT_FALSE(IsQuarantined("n1"));
  // It doubles what others say, and no more.
  Fail("n1", "other/a", 1);
  Step();
  EXPECT_FALSE(IsQuarantined("n1"));
}

TEST_F(HostQuarantineTest, SlowReportsOfTwoNamespacesQuarantine) {
  Slow("n1", "team/a", 1);
  Slow("n1", "team/b", 1);
  Slow("n1", "other/a", 1);
  Step();
  EXPECT_FALSE(IsQuarantined("n1"));
  Slow("n1", "other/b", 1);
  Step();
  EXPECT_TRUE(IsQuarantined("n1"));
}

TEST_F(HostQuarantineTest, AJobThatIsSlowOnEveryHostBlamesNone) {
  for (int i = 0; i < 6; ++i) {
    for (const char* job : {"team/a", "other/b", "third/c"}) Slow(StrCat("n", i), job, i);
  }
  Step();
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(IsQuarantined(StrCat("n", i)));
}

TEST_F(HostQuarantineTest, SlowReportsDoNotHinderFailures) {
  for (int i = 1; i <= 3; ++i) Fail("n1", "team/a", i);
  for (int i = 1; i <= 3; ++i) Slow("n1", StrCat("team/s", i), 1);
  Step();
  EXPECT_TRUE(IsQuarantined("n1"));
}

TEST_F(HostQuarantineTest, WhatALeaderWroteWhoseClockWasAYearAheadDoesNotLast) {
  constexpr std::int64_t kYear = 365LL * 24 * 60 * kMinute;
  for (int i = 1; i <= 3; ++i) Fail("n1", "team/a", i, kNow + kYear);
  hosts_["n2"].record = {{}, 1, kNow + kYear};
  Step();
  EXPECT_FALSE(IsQuarantined("n1"));
  EXPECT_TRUE(IsQuarantined("n2"));
  EXPECT_FALSE(IsQuarantined("n2", kNow + limits_.max_ms));
  Step(kNow + kMinute);
  EXPECT_FALSE(IsQuarantined("n2", kNow + limits_.max_ms));
}

TEST_F(HostQuarantineTest, WhatWasWrittenIsNotDecidedAgain) {
  for (int i = 1; i <= 3; ++i) Fail("n1", "team/a", i);
  Step();
  const api::HostRecord first = hosts_["n1"].record;
  Step(kNow + kMinute);
  EXPECT_EQ(hosts_["n1"].record, first) << "the same incidents are reported again";
  Step(kNow + 40 * kMinute);
  EXPECT_EQ(hosts_["n1"].record, first) << "and do not count for a second quarantine";
}

TEST_F(HostQuarantineTest, EveryQuarantineInARowIsTwiceAsLongUpToADay) {
  std::int64_t now = kNow, expected = 30 * kMinute;
  for (int round = 0; round < 9; ++round) {
    hosts_["n1"].reported.clear();
    for (int i = 0; i < 3; ++i) Fail("n1", "team/a", 10 * round + i, now);
    Step(now);
    EXPECT_EQ(hosts_["n1"].record.until_ms - now, std::min<std::int64_t>(expected, 1440 * kMinute))
        << round;
    now = hosts_["n1"].record.until_ms + kMinute;
    expected *= 2;
  }
}

TEST_F(HostQuarantineTest, ARowEndsWhenTheHostWorkedForAWindow) {
  for (int i = 1; i <= 3; ++i) Fail("n1", "team/a", i);
  Step();
  hosts_["n1"].reported.clear();
  const std::int64_t later = kNow + 2 * 1440 * kMinute;
  Step(later);
  EXPECT_TRUE(hosts_["n1"].record.empty());
}

TEST_F(HostQuarantineTest, AJobThatFailsOnEveryHostIsNoFaultOfAnyHost) {
  for (int i = 0; i < 12; ++i) Fail(StrCat("n", i % 4), "team/a", i);
  Step();
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(IsQuarantined(StrCat("n", i))) << i;
}

TEST_F(HostQuarantineTest, AJobThatFailsWhereverItIsMovedNeedsEverMoreFailures) {
  int attempt = 0;
  for (int i = 0; i < 3; ++i) Fail("n0", "team/a", ++attempt);
  Step();
  ASSERT_TRUE(IsQuarantined("n0"));
  for (int i = 0; i < 3; ++i) Fail("n20", "team/a", ++attempt);
  Step();
  EXPECT_FALSE(IsQuarantined("n20")) << "half of its failures were elsewhere";
}

TEST_F(HostQuarantineTest, OneNamespaceQuarantinesNoMoreThanTwoHosts) {
  limits_.fabric_share = limits_.segment_share = 1;
  for (int host = 0; host < 5; ++host) {
    for (int i = 0; i < 3; ++i) Fail(StrCat("n", host), StrCat("team/j", host), i);
  }
  Step();
  int quarantined = 0;
  for (int host = 0; host < 5; ++host) quarantined += IsQuarantined(StrCat("n", host)) ? 1 : 0;
  EXPECT_EQ(quarantined, 2);
}

TEST_F(HostQuarantineTest, AtMostAShareOfASegmentAndOfAllHostsIsQuarantined) {
  for (int host = 0; host < 40; ++host) {
    for (int i = 0; i < 3; ++i) Fail(StrCat("n", host), StrCat("team", host, "/a"), i);
  }
  Step();
  int quarantined = 0;
  for (const auto& [name, host] : hosts_) quarantined += IsQuarantined(name) ? 1 : 0;
  EXPECT_EQ(quarantined, 2) << "5 % of 40";
  // The next ones follow when these are free again.
  hosts_["n0"].reported.clear();
  Step(kNow + 31 * kMinute);
  quarantined = 0;
  for (const auto& [name, host] : hosts_) {
    quarantined += IsQuarantined(name, kNow + 31 * kMinute) ? 1 : 0;
  }
  EXPECT_EQ(quarantined, 2);
}

TEST_F(HostQuarantineTest, WithoutAThresholdNoHostIsQuarantined) {
  limits_.failures = 0;
  for (int i = 1; i <= 9; ++i) Fail("n1", "team/a", i);
  Step();
  EXPECT_FALSE(IsQuarantined("n1"));
}

}  // namespace
}  // namespace yardmaster::op
