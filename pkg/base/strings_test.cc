#include "pkg/base/strings.h"

#include "gtest/gtest.h"

namespace yardmaster {
namespace {

TEST(StringsTest, SplitAndJoinAreInverse) {
  for (const std::string text : {"", "a", "a,b", ",", "a,,b"}) {
    EXPECT_EQ(Join(Split(text, ','), ","), text);
  }
}

TEST(StringsTest, ANumberIsTheWholeTextOrNothing) {
  EXPECT_EQ(ParseNumber<int>("42"), 42);
  EXPECT_EQ(ParseNumber<int>("42x"), std::nullopt);
  EXPECT_EQ(ParseNumber<int>(""), std::nullopt);
  EXPECT_EQ(ParseNumber<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(ParseNumber<double>("1e3"), 1000.0);
}

TEST(StringsTest, CountsReadLikeEnglish) {
  EXPECT_EQ(Count(1, "host"), "1 host");
  EXPECT_EQ(StrCat("x", 2, 0.5, std::string("y")), "x20.5y");
}

}  // namespace
}  // namespace yardmaster
