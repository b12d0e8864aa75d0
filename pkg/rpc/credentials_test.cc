#include "pkg/rpc/credentials.h"

#include "gtest/gtest.h"

namespace yardmaster::rpc {
namespace {

TEST(CredentialsTest, OnlyAddressesOfThisHostAreLoopback) {
  for (const char* address : {"localhost:80", "127.0.0.1:80", "127.9.8.7:0", "[::1]:80"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
  }
  for (const char* address : {"127.example.com:80", "127.0.0.1.example.com:80", "0.0.0.0:80",
                              "[::]:80", "10.0.0.1:80", "localhost.example.com:80", ":80"}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
  }
}

TEST(CredentialsTest, AnAddressWithoutAHostIsThatOfBothFamilies) {
  EXPECT_EQ(ListeningAddress(":9443"), "[::]:9443");
  for (const char* address : {"10.0.0.1:80", "[::1]:80", "0.0.0.0:80", "unix:/run/a.sock", ""}) {
    EXPECT_EQ(ListeningAddress(address), address);
  }
}

}  // namespace
}  // namespace yardmaster::rpc
