#include "gtest/gtest.h"

#include "pkg/app/runtime.h"

namespace yardmaster::app {
namespace {

TEST(BindAddressTest, HostAndPortAreTakenApart) {
  EXPECT_EQ(ParseBindAddress(":8080")->bind_address, "") << "both families";
  EXPECT_EQ(ParseBindAddress(":8080")->port, 8080);
  EXPECT_EQ(ParseBindAddress("127.0.0.1:0")->bind_address, "127.0.0.1");
  EXPECT_EQ(ParseBindAddress("[::1]:7")->bind_address, "::1");
}

TEST(BindAddressTest, WhatIsNoAddressIsRefusedWithExamples) {
  for (const char* text : {"", "8080", "host:", "host:99999", "host:x"}) {
    auto address = ParseBindAddress(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_NE(std::string(address.status().message()).find("host:port"), std::string::npos);
  }
}

}  // namespace
}  // namespace yardmaster::app
