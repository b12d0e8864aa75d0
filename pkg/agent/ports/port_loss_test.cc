#include "pkg/agent/ports/port_loss.h"

#include "gmock/gmock.h"

#include "pkg/base/random.h"

namespace yardmaster::agent {
namespace {

using ::testing::IsEmpty;
using Lossy = std::vector<api::LossyPort>;

constexpr api::NicPortKey kPort = {0, 1};
constexpr std::int64_t kStepMs = 5'000;

// One port whose counters a test makes grow.
class LossFinderTest : public ::testing::Test {
 protected:
  LossFinderTest() { Observe(); }
  void Add(std::uint64_t damaged, std::uint64_t received) {
    frames_.damaged[0] = frames_.damaged[0].value_or(0) + damaged;
    frames_.received[0] = frames_.received[0].value_or(0) + received;
  }
  Lossy Observe() {
    now_ms_ += kStepMs;
    return finder_.Observe(now_ms_, {{kPort, device_, frames_}});
  }
  // So many intervals like this. What is lossy after the last one.
  Lossy Run(int intervals, std::uint64_t damaged, std::uint64_t received) {
    Lossy lossy;
    for (int i = 0; i < intervals; ++i) {
      Add(damaged, received);
      lossy = Observe();
    }
    return lossy;
  }
  // Intervals without damage until the port is clean.
  int IntervalsUntilClean() {
    int intervals = 1;
    while (!Run(1, 0, 100'000).empty() && intervals < 10'000) ++intervals;
    return intervals;
  }

  LossFinder finder_{LossLimits()};
  PortFrames frames_ = {{0}, {0}};
  std::string device_ = "eth1";
  std::int64_t now_ms_ = 0;
};

TEST_F(LossFinderTest, FourBadIntervalsOfSixAreALossyPort) {
  EXPECT_THAT(Run(10, 0, 100'000), IsEmpty());
  EXPECT_THAT(Run(3, 100, 99'900), IsEmpty());
  EXPECT_THAT(Run(2, 0, 100'000), IsEmpty());
  EXPECT_EQ(Run(1, 100, 99'900), (Lossy{{kPort, 1'000}}));
}

TEST_F(LossFinderTest, ABurstIsNotALossyPort) {
  EXPECT_THAT(Run(3, 50'000, 50'000), IsEmpty());
  EXPECT_THAT(Run(4, 0, 100'000), IsEmpty());
  EXPECT_THAT(Run(3, 50'000, 50'000), IsEmpty());
}

TEST_F(LossFinderTest, IntervalsWithoutTrafficSayNothingAndOldOnesAreForgotten) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Run(1, 100, 99'900), IsEmpty());
    EXPECT_THAT(Run(5, 0, 10), IsEmpty());
  }
  EXPECT_EQ(Run(1, 100, 99'900).size(), 1u);
  frames_ = {{0}, {0}};
  device_ = "eth2";
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(Run(1, 100, 99'900), IsEmpty());
    EXPECT_THAT(Run(20, 0, 10), IsEmpty());
  }
}

TEST_F(LossFinderTest, FewDamagedFramesAreChance) {
  EXPECT_THAT(Run(100, 9, 20), IsEmpty());
  EXPECT_THAT(Run(100, 9, 100'000), IsEmpty());  // 9e-5
}

TEST_F(LossFinderTest, ItIsCleanAfterTwoMinutesWithoutLossAndLaterEachTimeItIsSoonFoundAgain) {
  int before = 0;
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(Run(5, 100, 99'900).size(), 1u);
    // A tenth of the limit is not clean.
    EXPECT_EQ(Run(100, 2, 100'000).size(), 1u);
    const int intervals = IntervalsUntilClean();
    EXPECT_EQ(intervals, round == 0 ? 24 : 2 * before);
    before = intervals;
  }
  // After a long time without loss it is new.
  EXPECT_THAT(Run(1'000, 0, 100'000), IsEmpty());
  ASSERT_EQ(Run(5, 100, 99'900).size(), 1u);
  EXPECT_EQ(IntervalsUntilClean(), 24);
}

TEST_F(LossFinderTest, AnAvoidedPortThatStillDamagesTheLittleThatItCarriesIsNotClean) {
  ASSERT_EQ(Run(5, 100, 99'900).size(), 1u);
  EXPECT_EQ(Run(100, 1, 20).size(), 1u);
  EXPECT_EQ(IntervalsUntilClean(), 24);
}

TEST_F(LossFinderTest, WhileNothingIsKnownAPortRemainsWhatItIs) {
  const PortFrames absent;
  const auto look = [&](int times) {
    Lossy lossy;
    for (int i = 0; i < times; ++i) {
      now_ms_ += kStepMs;
      lossy = finder_.Observe(now_ms_, {{kPort, device_, absent}});
    }
    return lossy;
  };
  EXPECT_THAT(look(100), IsEmpty());
  ASSERT_EQ(Run(6, 100, 99'900).size(), 1u);
  EXPECT_EQ(look(100).size(), 1u);
  EXPECT_EQ(IntervalsUntilClean(), 25);  // the first one begins anew
}

TEST_F(LossFinderTest, CountersThatBeginAnewOrComeAndGoAccuseNoPort) {
  Add(1'000'000, 1'000'000);
  for (int i = 0; i < 40; ++i) {
    // Another counter with a past appears, and goes.
    frames_.damaged[2] = i % 2 == 0 ? std::optional<std::uint64_t>(500'000) : std::nullopt;
    Add(0, 1'000);
    EXPECT_THAT(Observe(), IsEmpty());
  }
  for (int i = 0; i < 40; ++i) {
    frames_ = {{static_cast<std::uint64_t>(100 * (40 - i))}, {0}};
    EXPECT_THAT(Observe(), IsEmpty());
  }
}

TEST_F(LossFinderTest, AnotherDeviceInItsPlaceBeginsAnew) {
  ASSERT_EQ(Run(6, 100, 99'900).size(), 1u);
  device_ = "eth7";
  EXPECT_THAT(Run(1, 100, 99'900), IsEmpty());
  EXPECT_EQ(Run(5, 100, 99'900).size(), 1u);
}

TEST_F(LossFinderTest, PortsThatAreGoneAreForgotten) {
  ASSERT_EQ(Run(6, 100, 99'900).size(), 1u);
  now_ms_ += kStepMs;
  EXPECT_THAT(finder_.Observe(now_ms_, {}), IsEmpty());
  EXPECT_THAT(Observe(), IsEmpty());
}

TEST_F(LossFinderTest, ReadingsAtOddTimesAreNotIntervals) {
  for (int i = 0; i < 40; ++i) {
    Add(100, 900);
    now_ms_ += 60'000;
    EXPECT_THAT(finder_.Observe(now_ms_, {{kPort, device_, frames_}}), IsEmpty());
    EXPECT_THAT(finder_.Observe(now_ms_ + 100, {{kPort, device_, frames_}}), IsEmpty());
  }
}

// What holds for all counters: a port is found only after kBadIntervals that were bad by the
// definition, what is reported is a share, and without damage every port is clean in the end.
TEST_F(LossFinderTest, HoldsItsPromisesForAnyCounters) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    LossFinder finder{LossLimits()};
    PortFrames frames = {{0}, {0}};
    std::int64_t now_ms = 0;
    int bad = 0;
    const auto check = [&](const Lossy& lossy) {
      found += lossy.empty() ? 0 : 1;
      for (const api::LossyPort& port : lossy) {
        EXPECT_GE(bad, LossFinder::kBadIntervals) << "seed " << seed;
        EXPECT_GE(port.per_million, 100);
        EXPECT_LE(port.per_million, 1'000'000);
      }
      return lossy;
    };
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t received = random.Below(3) == 0 ? 0 : random.Below(1'000'000);
      const std::uint64_t damaged = random.Below(3) != 0 ? 0 : random.Below(received / 1'000 + 20);
      bad += damaged >= 10 && 10'000 * damaged >= damaged + received ? 1 : 0;
      if (random.Below(20) == 0) {
        frames = {{0}, {0}};
      } else {
        *frames.damaged[0] += damaged;
        *frames.received[0] += received;
      }
      now_ms += static_cast<std::int64_t>(random.Below(10) == 0 ? kStepMs + random.Below(60'000)
                                                                : kStepMs);
      const bool absent = random.Below(20) == 0;
      check(finder.Observe(now_ms, {{kPort, "eth1", absent ? PortFrames() : frames}}));
    }
    Lossy last;
    for (int i = 0; i < 7'200'000 / kStepMs + 2; ++i) {
      *frames.received[0] += 1'000;
      now_ms += kStepMs;
      last = check(finder.Observe(now_ms, {{kPort, "eth1", frames}}));
    }
    EXPECT_THAT(last, IsEmpty()) << "seed " << seed;
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace yardmaster::agent
