#include "pkg/repac/flap_damper.h"

#include <gtest/gtest.h>

namespace yardmaster::repac {
namespace {

using fabric::CableId;

constexpr DampingOptions kOptions{10, 70, 1000};

TEST(FlapDamperTest, ACableIsAvoidedAtOnceAndUsedAgainAfterTheHold) {
  FlapDamper damper(kOptions);
  EXPECT_TRUE(damper.Usable(CableId(3), 0));
  damper.Observe(CableId(3), false, 5);
  EXPECT_FALSE(damper.Usable(CableId(3), 5));
  EXPECT_EQ(damper.NextChangeMs(6), -1);
  damper.Observe(CableId(3), true, 20);
  EXPECT_FALSE(damper.Usable(CableId(3), 29));
  EXPECT_EQ(damper.NextChangeMs(21), 30);
  EXPECT_TRUE(damper.Usable(CableId(3), 30));
  EXPECT_TRUE(damper.Avoided(30).empty());
}

TEST(FlapDamperTest, EveryFlapDoublesTheHoldUpToTheLimit) {
  FlapDamper damper(kOptions);
  std::int64_t now = 0;
  for (std::int64_t hold : {10, 20, 40, 70, 70}) {
    damper.Observe(CableId(1), false, ++now);
    damper.Observe(CableId(1), true, ++now);
    EXPECT_FALSE(damper.Usable(CableId(1), now + hold - 1));
    EXPECT_TRUE(damper.Usable(CableId(1), now + hold));
  }
}

TEST(FlapDamperTest, AQuietTimeIsForgiven) {
  FlapDamper damper(kOptions);
  for (std::int64_t now : {1, 3, 5}) {
    damper.Observe(CableId(1), false, now);
    damper.Observe(CableId(1), true, now + 1);
  }
  damper.Observe(CableId(1), false, 6 + 3000);
  damper.Observe(CableId(1), true, 3007);
  EXPECT_TRUE(damper.Usable(CableId(1), 3017));
}

TEST(FlapDamperTest, RepeatedReportsChangeNothing) {
  FlapDamper damper(kOptions);
  damper.Observe(CableId(1), true, 0);
  damper.Observe(CableId(1), false, 1);
  damper.Observe(CableId(1), false, 2);
  damper.Observe(CableId(1), true, 3);
  damper.Observe(CableId(1), true, 12);
  EXPECT_TRUE(damper.Usable(CableId(1), 13));
}

}  // namespace
}  // namespace yardmaster::repac
