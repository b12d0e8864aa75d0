#include "pkg/api/nic_annotations.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yardmaster::api {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(DownPortsTest, WhatIsWrittenReadsBack) {
  EXPECT_EQ(EncodeDownPorts({}), "");
  EXPECT_EQ(EncodeDownPorts({{0, 1}, {3, 0}}), "r0p1,r3p0");
  const DownPorts read = DecodeDownPorts("r0p1,r3p0", 8, 2);
  EXPECT_THAT(read.ports, ElementsAre(Pair(0, 1), Pair(3, 0)));
  EXPECT_EQ(read.unreadable.count, 0u);
  EXPECT_EQ(DecodeDownPorts("", 8, 2).unreadable.count, 0u);
}

TEST(DownPortsTest, WhatNamesNoPortIsReportedAndStopsNothing) {
  const DownPorts read = DecodeDownPorts("r0p1,r9p0,x,,r1p2,r1", 8, 2);
  EXPECT_THAT(read.ports, ElementsAre(Pair(0, 1)));
  EXPECT_THAT(read.unreadable.first, ElementsAre("r9p0", "x", "", "r1p2", "r1"));
}

TEST(LossyPortsTest, WhatIsWrittenReadsBack) {
  EXPECT_EQ(EncodeLossyPorts({}), "");
  const std::vector<LossyPort> ports = {{{0, 1}, 20'000}, {{3, 0}, 1}};
  EXPECT_EQ(EncodeLossyPorts(ports), "r0p1=20000,r3p0=1");
  EXPECT_EQ(DecodeLossyPorts("r0p1=20000,r3p0=1", 8, 2).ports, ports);
  EXPECT_EQ(DecodeLossyPorts("", 8, 2).unreadable.count, 0u);
}

TEST(LossyPortsTest, WhatSaysNoLossOfAPortIsReportedAndStopsNothing) {
  const LossyPorts read = DecodeLossyPorts(
      "r0p1=5,r0p1=6,r1p1,r1p1=,=5,,r9p0=5,r1p2=5,r2p0=0,r2p0=-1,r2p0=1000001,r2p0=1e3", 8, 2);
  EXPECT_EQ(read.ports, (std::vector<LossyPort>{{{0, 1}, 5}}));
  EXPECT_THAT(read.unreadable.first,
              ElementsAre("r0p1=6", "r1p1", "r1p1=", "=5", "", "r9p0=5", "r1p2=5", "r2p0=0"));
  EXPECT_EQ(read.unreadable.count, 11u);
}

TEST(UnreadablePartsTest, AreFewAndShortHoweverLongTheAnnotation) {
  const std::string commas(262'143, ',');
  const std::string wide = std::string(39, 'x') + "\u00e9" + std::string(100'000, 'y');
  for (const UnreadableParts& parts :
       {DecodeDownPorts(commas, 8, 2).unreadable, DecodeLossyPorts(commas, 8, 2).unreadable}) {
    EXPECT_EQ(parts.count, 262'144u);
    EXPECT_EQ(parts.first, std::vector<std::string>(8));
  }
  EXPECT_THAT(DecodeDownPorts(wide, 8, 2).unreadable.first, ElementsAre(std::string(39, 'x')));
  EXPECT_THAT(DecodeDownPorts("r0p1,r0p1,r0p0,r0p1", 8, 2).ports,
              ElementsAre(Pair(0, 1), Pair(0, 0)));
}

TEST(NicAddressesTest, OneAddressForEachRailOfOneKind) {
  const auto read = DecodeNicAddresses("10.0.0.1,10.0.0.2", 2);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(EncodeNicAddresses(*read), "10.0.0.1,10.0.0.2");
  for (const char* text : {"", "10.0.0.1", "10.0.0.1,10.0.0.1", "10.0.0.1,2001:db8::1",
                           "10.0.0.1,x", "10.0.0.1,10.0.0.2,10.0.0.3", "10.0.0.1,10.0.0.2,x"}) {
    EXPECT_FALSE(DecodeNicAddresses(text, 2).ok()) << text;
  }
  EXPECT_LT(DecodeNicAddresses(std::string(200'000, 'x'), 2).status().message().size(), 1'000u);
}

}  // namespace
}  // namespace yardmaster::api
