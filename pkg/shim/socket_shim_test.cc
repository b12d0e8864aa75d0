// The socket shim before the C library, on real sockets: the test program starts itself with
// LD_PRELOAD and plays both ends on loopback addresses.
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include "gtest/gtest.h"

#include "pkg/shim/testing/child.h"

namespace yardmaster::shim {
namespace {

using ConnectFunction = int (*)(int, const sockaddr*, socklen_t);
using AcceptFunction = int (*)(int, sockaddr*, socklen_t*);

sockaddr_in At(const char* address, int port) {
  sockaddr_in in = {};
  in.sin_family = AF_INET;
  in.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, address, &in.sin_addr);
  return in;
}

const sockaddr* Generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

int Listen(const char* address, int* port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in in = At(address, 0);
  EXPECT_EQ(bind(fd, Generic(in), sizeof in), 0);
  EXPECT_EQ(listen(fd, 64), 0);
  socklen_t size = sizeof in;
  getsockname(fd, reinterpret_cast<sockaddr*>(&in), &size);
  *port = ntohs(in.sin_port);
  return fd;
}

int LocalPort(int fd) {
  sockaddr_in in = {};
  socklen_t size = sizeof in;
  getsockname(fd, reinterpret_cast<sockaddr*>(&in), &size);
  return ntohs(in.sin_port);
}

int ClassOf(int fd) {
  int value = 0;
  socklen_t size = sizeof value;
  getsockopt(fd, IPPROTO_IP, IP_TOS, &value, &size);
  return value;
}

class SocketShimTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = MakeFolder();
    listener_ = Listen("127.0.0.1", &port_);
    // Ports of this test's own, below those that the kernel gives out: tests run side by side, and
    // what one test closed stays in TIME_WAIT.
    static int tests = 0;
    base_ = 12'000 + static_cast<int>(getpid() % 300) * 64 + 8 * tests++;
    environment_ = {{"YARDMASTER_PLAN", folder_ + "/plan"}, {"YARDMASTER_SHIM_STATUS", folder_}};
    WritePlan();
  }
  void TearDown() override { close(listener_); }

  void WritePlan() {
    const std::string a = std::to_string(base_), b = std::to_string(base_ + 1);
    WriteFile(folder_ + "/plan",
              R"({"version":1,"trafficClass":104,"rails":[{"rail":0,"peers":[
                 {"address":"127.0.0.1","tcp":[{"listenPort":)" +
                  std::to_string(port_) + R"(,"sourcePorts":[)" + a + "," + b + "]}]}]}]}");
  }

  // Runs with the shim loaded, its functions taken from it as the loader's binding would.
  template <typename Body>
  bool Run(Body body) {
    return RunInChild(environment_, [&] {
      void* shim = dlopen(SOCKET_SHIM, RTLD_NOW);
      ASSERT_NE(shim, nullptr) << dlerror();
      connect_ = reinterpret_cast<ConnectFunction>(dlsym(shim, "connect"));
      accept_ = reinterpret_cast<AcceptFunction>(dlsym(shim, "accept"));
      ASSERT_NE(connect_, nullptr);
      body();
    });
  }

  int Connected(int port) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in to = At("127.0.0.1", port);
    EXPECT_EQ(connect_(fd, Generic(to), sizeof to), 0) << std::strerror(errno);
    return fd;
  }

  std::string folder_;
  Environment environment_;
  int listener_ = -1, port_ = 0, base_ = 0;
  ConnectFunction connect_ = nullptr;
  AcceptFunction accept_ = nullptr;
};

TEST_F(SocketShimTest, ConnectionsLeaveFromThePlannedPortsWithThePlannedClass) {
  EXPECT_TRUE(Run([&] {
    const int first = Connected(port_);
    EXPECT_EQ(LocalPort(first), base_);
    EXPECT_EQ(ClassOf(first), 104);
    const int second = Connected(port_);
    EXPECT_EQ(LocalPort(second), base_ + 1);
    const int third = Connected(port_);
    EXPECT_NE(LocalPort(third), base_) << "all are in use: the kernel chooses";
    EXPECT_EQ(ClassOf(third), 104);
    const int accepted = accept_(listener_, nullptr, nullptr);
    EXPECT_EQ(ClassOf(accepted), 104) << "the way back";
    // What was sent arrives.
    ASSERT_EQ(write(first, "x", 1), 1);
    char byte = 0;
    ASSERT_EQ(read(accepted, &byte, 1), 1);
    EXPECT_EQ(byte, 'x');
  }));
  EXPECT_NE(ReadFolder(folder_).find(R"("how":"bind")"), std::string::npos);
  EXPECT_NE(ReadFolder(folder_).find("no planned port is free"), std::string::npos);
}

TEST_F(SocketShimTest, APortInUseByAnotherConnectionNeverFailsAConnect) {
  EXPECT_TRUE(Run([&] {
    // The far end closes last, so the planned port stays in TIME_WAIT here.
    const int first = Connected(port_);
    const int accepted = accept_(listener_, nullptr, nullptr);
    close(first);
    close(accepted);
    for (int i = 0; i < 4; ++i) {
      const int fd = socket(AF_INET, SOCK_STREAM, 0);
      const int yes = 1;
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      const sockaddr_in to = At("127.0.0.1", port_);
      EXPECT_EQ(connect_(fd, Generic(to), sizeof to), 0) << std::strerror(errno);
      int reuse = 0;
      socklen_t size = sizeof reuse;
      getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, &size);
      EXPECT_EQ(reuse, 1) << "the program's option is as it was";
    }
  }));
}

TEST_F(SocketShimTest, WhatTheProgramChoseStays) {
  EXPECT_TRUE(Run([&] {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in local = At("127.0.0.1", base_ + 5);
    ASSERT_EQ(bind(fd, Generic(local), sizeof local), 0);
    const int own = 32;
    setsockopt(fd, IPPROTO_IP, IP_TOS, &own, sizeof own);
    const sockaddr_in to = At("127.0.0.1", port_);
    EXPECT_EQ(connect_(fd, Generic(to), sizeof to), 0);
    EXPECT_EQ(LocalPort(fd), base_ + 5);
    EXPECT_EQ(ClassOf(fd), 32);
  }));
}

TEST_F(SocketShimTest, OtherPeersOtherPortsAndOtherSocketsAreLeftAlone) {
  int other = 0;
  const int listener = Listen("127.0.0.1", &other);
  EXPECT_TRUE(Run([&] {
    const int fd = Connected(other);
    EXPECT_NE(LocalPort(fd), base_);
    EXPECT_EQ(ClassOf(fd), 0);
    const int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    const sockaddr_in to = At("127.0.0.1", port_);
    EXPECT_EQ(connect_(datagrams, Generic(to), sizeof to), 0);
    EXPECT_NE(LocalPort(datagrams), base_);
    errno = 0;
    EXPECT_EQ(connect_(-1, Generic(to), sizeof to), -1);
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(connect_(socket(AF_INET, SOCK_STREAM, 0), nullptr, 0), -1);
    EXPECT_EQ(accept_(-1, nullptr, nullptr), -1);
    EXPECT_EQ(errno, EBADF);
  }));
  close(listener);
}

TEST_F(SocketShimTest, NothingHappensWithoutAPlanInTheEnvironment) {
  environment_.erase("YARDMASTER_PLAN");
  EXPECT_TRUE(Run([&] {
    const int fd = Connected(port_);
    EXPECT_NE(LocalPort(fd), base_);
    EXPECT_EQ(ClassOf(fd), 0);
  }));
}

TEST_F(SocketShimTest, AnUnchangedProgramGetsItByPreload) {
  const std::string program =
      "python3 -c 'import socket; s=socket.create_connection((\"127.0.0.1\"," +
      std::to_string(port_) + ")); print(s.getsockname()[1], s.getsockopt(0,1))'";
  environment_["LD_PRELOAD"] = SOCKET_SHIM;
  const std::string expected = std::to_string(base_) + " 104\n";
  const std::string got = RunProgram(environment_, program);
  if (got.find("san") != std::string::npos) GTEST_SKIP() << "built with a sanitizer";
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace yardmaster::shim
