#include "pkg/base/ip_address.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/base/testing/ipv4.h"

namespace yardmaster {
namespace {

TEST(IpAddressTest, ReadsBothKinds) {
  const auto v4 = IpAddress::Parse("10.1.2.255");
  ASSERT_TRUE(v4.ok());
  EXPECT_EQ(*v4, Ipv4(0x0A0102FF));
  const auto v6 = IpAddress::Parse("3ffe:2501:200:1fff::7");
  ASSERT_TRUE(v6.ok());
  const std::array<std::uint8_t, 16> want = {0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff,
                                             0,    0,    0,    0,    0,    0,    0,    7};
  EXPECT_EQ(v6->bytes, want);
  const auto mixed = IpAddress::Parse("::ffff:1.2.3.4");
  ASSERT_TRUE(mixed.ok());
  EXPECT_EQ(mixed->bytes[10], 0xff);
  EXPECT_EQ(mixed->bytes[15], 4);
}

TEST(IpAddressTest, RefusesWhatIsNoAddress) {
  for (const char* text : {"", "10.0.0", "10.0.0.256", "10.0.0.1.2", "010.0.0.1", "a.b.c.d", "1:2",
                           ":", ":::", "1::2::3", "12345::", "1:2:3:4:5:6:7:8:9", "g::", " ::1",
                           "1:2:3:4:5:6:7:1.2.3.4", "1:2:3:4:5:6:7:8::", "-1.0.0.0", "10.0.0.1 "}) {
    EXPECT_FALSE(IpAddress::Parse(text).ok()) << text;
  }
  EXPECT_FALSE(IpAddress::Parse(std::string_view("10.0.0.1\0x", 10)).ok());
}

TEST(IpAddressTest, TextReadsBack) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    IpAddress address;
    address.v6 = i % 2 == 0;
    for (std::size_t b = 0; b < address.size(); ++b) {
      if (random.Below(2) == 0) address.bytes[b] = static_cast<std::uint8_t>(random.Below(256));
    }
    const auto back = IpAddress::Parse(address.ToString());
    ASSERT_TRUE(back.ok()) << address.ToString();
    EXPECT_EQ(*back, address) << address.ToString();
  }
  EXPECT_EQ(IpAddress::Parse("2001:db8:0:0:0:0:0:1")->ToString(), "2001:db8::1");
  EXPECT_EQ(IpAddress::Parse("::")->ToString(), "::");
}

}  // namespace
}  // namespace yardmaster
