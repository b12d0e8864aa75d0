#include "pkg/base/clock.h"

#include "gtest/gtest.h"

namespace yardmaster {
namespace {

TEST(ClockTest, TimesSurviveARoundTrip) {
  for (std::int64_t ms : {0LL, 1'000LL, 1'767'225'599'000LL}) {
    EXPECT_EQ(ParseTime(FormatTime(ms)).value(), ms);
    EXPECT_EQ(ParseTime(FormatMicroTime(ms)).value(), ms);
  }
  EXPECT_EQ(FormatTime(0), "1970-01-01T00:00:00Z");
}

TEST(ClockTest, YearsHaveFourDigits) {
  EXPECT_EQ(ParseTime("9999-12-31T23:59:59Z").value(), 253'402'300'799'000);
  EXPECT_EQ(ParseTime("0000-01-01T00:00:00Z").value(), -62'167'219'200'000);
  for (const char* text : {"infinite-future", "infinite-past", "10000-01-01T00:00:00Z",
                           "202626262626-01-01T00:00:00Z", "-0001-12-31T23:59:59Z"}) {
    EXPECT_FALSE(ParseTime(text).ok()) << text;
  }
}

TEST(ClockTest, WhatIsNoTimeIsRefusedWithAnExample) {
  auto result = ParseTime("yesterday");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("2026-01-02T03:04:05Z"), std::string::npos);
}

}  // namespace
}  // namespace yardmaster
