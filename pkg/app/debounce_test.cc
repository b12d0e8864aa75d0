#include "pkg/app/debounce.h"

#include "gtest/gtest.h"

namespace yardmaster::app {
namespace {

TEST(DebounceTest, ActsAfterQuietTimeAndNotBefore) {
  Debounce debounce(100, 1000);
  EXPECT_EQ(debounce.Delay(0), std::nullopt);
  debounce.Changed(0);
  EXPECT_EQ(debounce.Delay(30), 70);
  debounce.Changed(50);
  EXPECT_EQ(debounce.Delay(100), 50);
  EXPECT_EQ(debounce.Delay(150), 0);
  debounce.Acted();
  EXPECT_EQ(debounce.Delay(200), std::nullopt);
}

TEST(DebounceTest, ConstantChangeIsActedOnAtTheLatestTime) {
  Debounce debounce(100, 1000);
  for (std::int64_t now = 0; now <= 990; now += 10) debounce.Changed(now);
  EXPECT_EQ(debounce.Delay(990), 10);
  EXPECT_EQ(debounce.Delay(1000), 0);
}

}  // namespace
}  // namespace yardmaster::app
