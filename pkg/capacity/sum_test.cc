#include "pkg/capacity/sum.h"

#include "gtest/gtest.h"

namespace yardmaster::capacity {
namespace {

TEST(SumTest, SumsAreReadAsTheyAreWrittenAndMayBeLargerThanAmounts) {
  for (const Micros micros :
       {Micros{0}, Micros{12'500'000}, kMaxMicros, kMaxMicros + 1, 40 * kMaxMicros + 7, kMaxSum}) {
    const auto read = ParseSum(FormatMoney({micros, "VND"}));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, (Money{micros, "VND"}));
  }
}

TEST(SumTest, WhatIsNoAmountIsNoSum) {
  for (const char* text :
       {"", "USD", "12", "-1.00 USD", "1234567890123", "12345678901234.00 USD", "1.2.3 USD",
        "99999999999999999999 USD", "1234567890.0000001 USD", " 1.00 USD"}) {
    EXPECT_FALSE(ParseSum(text).ok()) << text;
  }
}

TEST(SumTest, ASumEndsAtItsLargestValue) {
  EXPECT_EQ(AddToSum(1, 2), 3);
  EXPECT_EQ(AddToSum(kMaxSum - 1, 1), kMaxSum);
  EXPECT_EQ(AddToSum(kMaxSum - 1, 2), kMaxSum);
  EXPECT_EQ(AddToSum(kMaxSum, kMaxSum), kMaxSum);
  EXPECT_EQ(ParseSum("9999999999999.00 USD")->micros, kMaxSum);
}

}  // namespace
}  // namespace yardmaster::capacity
