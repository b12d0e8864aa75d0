#include "pkg/base/base64.h"

#include <string>

#include "gtest/gtest.h"

#include "pkg/base/random.h"

namespace yardmaster {
namespace {

TEST(Base64, EncodesTheExamplesOfTheRfc) {
  EXPECT_EQ(Base64Encode(""), "");
  EXPECT_EQ(Base64Encode("f"), "Zg==");
  EXPECT_EQ(Base64Encode("fo"), "Zm8=");
  EXPECT_EQ(Base64Encode("foo"), "Zm9v");
  EXPECT_EQ(Base64Encode("foobar"), "Zm9vYmFy");
}

TEST(Base64, DecodesWhatItEncodedForBytesOfEveryLength) {
  Random random(7);
  for (std::size_t length = 0; length < 200; ++length) {
    std::string bytes;
    for (std::size_t i = 0; i < length; ++i) {
      bytes.push_back(static_cast<char>(random.Below(256)));
    }
    const auto decoded = Base64Decode(Base64Encode(bytes));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, bytes);
  }
}

TEST(Base64, SkipsTheLineBreaksOfAFoldedValue) {
  const auto decoded = Base64Decode("Zm9v\n  YmFy\r\n");
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, "foobar");
}

TEST(Base64, RefusesWhatIsNotBase64) {
  for (const char* text :
       {"Zg", "Zg=", "Z", "Zm9v=", "=Zg=", "Zg==Zg==", "Z===", "Zm9*", "Zg==="}) {
    EXPECT_FALSE(Base64Decode(text).ok()) << text;
  }
}

}  // namespace
}  // namespace yardmaster
