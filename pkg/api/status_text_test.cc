#include "pkg/api/status_text.h"

#include "gtest/gtest.h"

namespace yardmaster::api {
namespace {

TEST(StatusTextTest, ATextUpToTheLimitStaysAsItIs) {
  EXPECT_EQ(CutStatusText(""), "");
  const std::string longest(kMaxStatusTextBytes, 'x');
  EXPECT_EQ(CutStatusText(longest), longest);
}

TEST(StatusTextTest, ALongerOneIsCutBeforeTheCharacterThatDoesNotFit) {
  for (const char* character : {"x", "é", "€", "😀"}) {
    const std::string c = character;
    for (std::size_t before = kMaxStatusTextBytes - 5; before <= kMaxStatusTextBytes; ++before) {
      const std::string whole = std::string(before, 'y') + c + "tail beyond the limit";
      const std::size_t kept = before + c.size() <= kMaxStatusTextBytes
                                   ? std::string::npos  // the character is there as a whole
                                   : before;
      const std::string cut = CutStatusText(whole);
      EXPECT_LE(cut.size(), kMaxStatusTextBytes);
      EXPECT_EQ(whole.rfind(cut, 0), 0u) << "is not the beginning";
      if (kept == std::string::npos) {
        EXPECT_EQ(cut.substr(before, c.size()), c) << before;
      } else {
        EXPECT_EQ(cut.size(), kept) << before;
      }
    }
  }
}

}  // namespace
}  // namespace yardmaster::api
