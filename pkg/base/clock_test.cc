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

TEST(ClockTest, WhatIsNoTimeIsRefusedWithAnExample) {
  auto result = ParseTime("yesterday");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("2026-01-02T03:04:05Z"), std::string::npos);
}

}  // namespace
}  // namespace yardmaster
