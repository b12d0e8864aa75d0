#include "pkg/agent/profiles/cpu_throttle.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

namespace fs = std::filesystem;

constexpr char kUid[] = "0f5a2c1e-1111-4222-8333-944445555666";
constexpr char kEscaped[] = "0f5a2c1e_1111_4222_8333_944445555666";

TEST(ParseCpuStatTest, ReadsBothVersionsOfTheFile) {
  EXPECT_EQ(ParseCpuStat("usage_usec 6312\nuser_usec 4000\nsystem_usec 2312\nnr_periods 70\n"
                         "nr_throttled 21\nthrottled_usec 912345\nnr_bursts 0\nburst_usec 0\n"),
            (ThrottleCounters{70, 21, 6312}));
  EXPECT_EQ(ParseCpuStat("nr_periods 3\nnr_throttled 3\nthrottled_time 28100042\n"),
            (ThrottleCounters{3, 3, 0}));
}

TEST(ParseCpuStatTest, WhatIsNoSuchFileSaysNothing) {
  for (const char* text :
       {"", "\n", "nr_periods 3\n", "nr_throttled 3\n", "nr_periods x\nnr_throttled 0\n",
        "nr_periods -1\nnr_throttled 0\n", "nr_periods 2\nnr_throttled 3\n",
        "nr_periods 99999999999999999999\nnr_throttled 0\n", "usage_usec 6312\n"}) {
    EXPECT_FALSE(ParseCpuStat(text)) << text;
  }
}

class CpuThrottleTest : public ::testing::Test {
 protected:
  CpuThrottleTest()
      : root_(StrCat(::testing::TempDir(), "/cgroups-",
                     ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(root_);
  }
  ~CpuThrottleTest() override { fs::remove_all(root_); }

  void Write(const std::string& folder, std::int64_t periods, std::int64_t throttled,
             std::int64_t usage_us = 0) {
    fs::create_directories(StrCat(root_, folder));
    std::ofstream(StrCat(root_, folder, "/cpu.stat"))
        << (usage_us > 0 ? StrCat("usage_usec ", usage_us, "\n") : "") << "nr_periods " << periods
        << "\nnr_throttled " << throttled << "\n";
  }

  const std::string root_;
};

TEST_F(CpuThrottleTest, FindsThePodWithEitherDriverAndVersion) {
  const std::string slice =
      StrCat("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod", kEscaped, ".slice");
  const std::string plain = StrCat("/kubepods/pod", kUid);
  for (const std::string& folder : {slice, plain}) {
    for (const char* controller : {"", "/cpu,cpuacct", "/cpu"}) {
      fs::remove_all(root_);
      Write(controller + folder, 0, 0);
      EXPECT_EQ(PodCgroup(root_, kUid), root_ + controller + folder);
    }
  }
  EXPECT_EQ(PodCgroup(root_, "another-uid"), "");
  EXPECT_EQ(PodCgroup(root_, "../../../../../../../../../etc/xxxxx"), "");
}

TEST_F(CpuThrottleTest, TheFractionIsThatOfTheLastHalfMinute) {
  const std::string pod = StrCat("/kubepods/pod", kUid);
  CpuThrottle throttle(root_);
  Write(pod, 0, 0);
  Write(pod + "/c1", 1'000, 0);
  EXPECT_FALSE(throttle.Fraction(0, kUid)) << "one sample shows no change";
  std::int64_t periods = 1'000, throttled = 0;
  for (std::int64_t ms = 5'000; ms <= 60'000; ms += 5'000) {
    periods += 50;
    if (ms > 30'000) throttled += 40;
    Write(pod + "/c1", periods, throttled);
    const auto fraction = throttle.Fraction(ms, kUid);
    ASSERT_TRUE(fraction);
    EXPECT_NEAR(*fraction, ms <= 30'000 ? 0 : 0.8 * static_cast<double>(ms - 30'000) / 30'000, 1e-9)
        << ms;
  }
}

TEST_F(CpuThrottleTest, TheContainerThatUsedTheMostCounts) {
  const std::string pod = StrCat("/kubepods/pod", kUid);
  CpuThrottle throttle(root_);
  Write(pod, 0, 0, 100);
  Write(pod + "/sidecar", 0, 0, 1);
  Write(pod + "/trainer", 0, 0, 1);
  EXPECT_FALSE(throttle.Fraction(0, kUid));
  Write(pod + "/sidecar", 100, 100, 9'000);
  Write(pod + "/trainer", 100, 5, 9'000'000);
  EXPECT_EQ(throttle.Fraction(5'000, kUid), 0.05);
  // Without a limit its periods are not counted.
  Write(pod + "/sidecar", 200, 200, 18'000);
  Write(pod + "/trainer", 0, 0, 18'000'000);
  EXPECT_FALSE(throttle.Fraction(10'000, kUid));
  // The pod as a whole may have a limit, too.
  Write(pod, 100, 30, 200);
  EXPECT_EQ(throttle.Fraction(15'000, kUid), 0.3);
}

TEST_F(CpuThrottleTest, WithoutTheFilesNothingIsKnown) {
  CpuThrottle nowhere("");
  EXPECT_FALSE(nowhere.Fraction(0, kUid));
  CpuThrottle throttle(root_);
  EXPECT_FALSE(throttle.Fraction(0, kUid));
  const std::string pod = StrCat("/kubepods/pod", kUid);
  Write(pod, 100, 90);
  EXPECT_FALSE(throttle.Fraction(5'000, kUid));
  Write(pod, 200, 140);
  EXPECT_EQ(throttle.Fraction(10'000, kUid), 0.5) << "the pod's folder came later";
  // Another pod's container of the same name begins at 0.
  Write(pod, 50, 50);
  EXPECT_FALSE(throttle.Fraction(15'000, kUid));
}

}  // namespace
}  // namespace yardmaster::agent
