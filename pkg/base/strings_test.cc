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

TEST(StringsTest, ACutKeepsWholeCharacters) {
  EXPECT_EQ(CutAtCharacter("host", 4), "host");
  EXPECT_EQ(CutAtCharacter("host", 3), "hos");
  EXPECT_EQ(CutAtCharacter("host", 0), "");
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";  // of 1, 2, 3 and 4 bytes
  const std::size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  for (std::size_t max = 0; max <= text.size(); ++max) {
    EXPECT_EQ(CutAtCharacter(text, max), text.substr(0, ends[max])) << max;
  }
}

TEST(StringsTest, ATextThatIsNotUtf8IsCutWhereItHasToEnd) {
  EXPECT_EQ(CutAtCharacter(std::string(9, '\x80'), 5), std::string(5, '\x80'));
  EXPECT_EQ(CutAtCharacter("\xFF\xFF\xFF", 2), "\xFF\xFF");
}

TEST(StringsTest, CountsReadLikeEnglish) {
  EXPECT_EQ(Count(1, "host"), "1 host");
  EXPECT_EQ(StrCat("x", 2, 0.5, std::string("y")), "x20.5y");
}

}  // namespace
}  // namespace yardmaster
