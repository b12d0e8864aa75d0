#include "pkg/base/testing/free_port.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace yardmaster {
namespace {

std::vector<int> PortsOfScript(int count) {
  std::vector<int> ports;
  FILE* script = popen(StrCat(YARDMASTER_SOURCE_DIR, "/test/ports ", count).c_str(), "r");
  int port = 0;
  while (std::fscanf(script, "%d", &port) == 1) ports.push_back(port);
  pclose(script);
  return ports;
}

TEST(FreePortTest, IsBelowThePortsOfOutgoingConnections) {
  for (int i = 0; i < 50; ++i) {
    const int port = FreePort();
    EXPECT_GT(port, 0);
    EXPECT_LT(port, FirstEphemeralPort());
  }
}

TEST(FreePortTest, TestsAndScriptsAtTheSameTimeGetDifferentPorts) {
  std::vector<std::vector<int>> drawn(6);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    threads.emplace_back([&out = drawn[i], i] {
      if (i % 2 == 0) {
        out = PortsOfScript(20);
      } else {
        std::generate_n(std::back_inserter(out), 20, FreePort);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<int> ports;
  for (const std::vector<int>& some : drawn) ports.insert(some.begin(), some.end());
  EXPECT_EQ(ports.size(), 6 * 20u);
}

TEST(FreePortTest, IsNotOneThatAnotherProgramListensOn) {
  for (const bool by_script : {false, true}) {
    const int next = FreePort() + 1;  // the one that would be drawn
    const UniqueFd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<in_port_t>(next));
    // Fails where another program has the port, which serves as well.
    (void)::bind(taken.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    EXPECT_NE(by_script ? PortsOfScript(1).at(0) : FreePort(), next);
  }
}

}  // namespace
}  // namespace yardmaster
