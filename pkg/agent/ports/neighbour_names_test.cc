#include "pkg/agent/ports/neighbour_names.h"

#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"
#include "pkg/base/strings.h"
#include "pkg/config/observations.h"

namespace yardmaster::agent {
namespace {

using ::testing::HasSubstr;

constexpr char kTable[] = R"(
switches:
- {chassis: leaf-a1, name: p00/p00s00/tor-r0-p0}
- {chassis: "aa:bb:cc:00:00:02", name: p00/p00s00/tor-r0-p1}
ports:
- {prefix: Ethernet, first: 0, step: 4}
- {prefix: swp}
)";

LldpNeighbour Seen(const std::string& chassis, const std::string& port) {
  return {"eth0", chassis, "aa:bb:cc:00:00:02", port};
}

TEST(NeighbourNames, ASwitchAndAPortBecomeTheNameOfADownPort) {
  const auto names = ParseNeighbourNames(kTable, "names.yaml");
  ASSERT_TRUE(names.ok()) << names.status().message();
  EXPECT_EQ(names->NameOf(Seen("leaf-a1", "Ethernet0")), "p00/p00s00/tor-r0-p0:d1");
  EXPECT_EQ(names->NameOf(Seen("leaf-a1", "Ethernet12")), "p00/p00s00/tor-r0-p0:d4");
  EXPECT_EQ(names->NameOf(Seen("leaf-a1", "swp7")), "p00/p00s00/tor-r0-p0:d7");
  // By its chassis id.
  EXPECT_EQ(names->NameOf(Seen("leaf-a2", "swp1")), "p00/p00s00/tor-r0-p1:d1");
}

TEST(NeighbourNames, WhatTheTableDoesNotSayHasNoName) {
  const auto names = ParseNeighbourNames(kTable, "names.yaml");
  ASSERT_TRUE(names.ok());
  for (const char* port :
       {"Ethernet2", "swp0", "swp", "swp1s0", "swp-1", "swp99999999999", "eth1", ""}) {
    EXPECT_EQ(names->NameOf(Seen("leaf-a1", port)), std::nullopt) << port;
  }
  LldpNeighbour other = Seen("leaf-b9", "swp1");
  other.chassis_id = "aa:bb:cc:00:00:09";
  EXPECT_EQ(names->NameOf(other), std::nullopt);
}

TEST(NeighbourNames, ATableThatCannotBeRightIsRefused) {
  for (const char* text :
       {"", "{}", "switches: []\nports: []", "switches: [{chassis: a, name: b}]",
        "ports: [{prefix: swp}]", "switches: [{chassis: a}]\nports: [{prefix: x}]",
        "switches: [{chassis: a, name: b}, {chassis: a, name: c}]\nports: [{prefix: x}]",
        "switches: [{chassis: a, name: b}]\nports: [{prefix: x, step: 0}]",
        "switches: [{chassis: a, name: b}]\nports: [{prefix: x, frist: 2}]"}) {
    EXPECT_FALSE(ParseNeighbourNames(text, "names.yaml").ok()) << text;
  }
}

TEST(NeighboursOfPorts, APortIsKnownByItsInterfaceTheFirstGidsOrTheDevicesOnlyOne) {
  TempFolder sys;
  sys.Put("class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "ens1f0np0\n");
  sys.Put("class/infiniband/mlx5_1/device/net/ens2np0/ifindex", "7\n");
  sys.Put("class/infiniband/mlx5_2/device/net/ens3np0/ifindex", "8\n");
  sys.Put("class/infiniband/mlx5_2/device/net/ens3np1/ifindex", "9\n");
  const std::vector<LocalNicPort> ports = {{0, 0, "", "mlx5_0", 1}, {1, 0, "", "mlx5_1", 1},
                                           {2, 0, "", "mlx5_2", 1}, {3, 0, "eth7", "", 0},
                                           {4, 0, "", "mlx5_9", 1}, {5, 0, "eth8", "", 0}};
  const auto found = NeighboursOfPorts(sys.path(), ports,
                                       {{"eth7", "s", "", "1"},
                                        {"ens1f0np0", "s", "", "2"},
                                        {"ens2np0", "s", "", "3"},
                                        {"ens3np0", "s", "", "4"},
                                        {"", "s", "", "5"},
                                        {"eth8", "s", "", "6"},
                                        {"eth8", "t", "", "7"}});  // two: which one is not known
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].neighbour.port, "2");
  EXPECT_EQ(found[1].neighbour.port, "3");
  EXPECT_EQ(found[2].port, ports[3]);
}

TEST(DocumentOf, IsWhatTheOperatorReadsAndNamesTheOtherEndWhereTheTableKnowsIt) {
  const auto names = ParseNeighbourNames(kTable, "names.yaml");
  ASSERT_TRUE(names.ok());
  const NeighbourDocument document = DocumentOf("n1",
                                                {{{0, 1, "eth0", "", 0}, Seen("leaf-a1", "swp2")},
                                                 {{1, 0, "eth1", "", 0}, Seen("leaf-a1", "mgmt")}},
                                                *names);
  EXPECT_EQ(document.unknown, 1);
  const auto read = config::ReadNeighbours(document.text, "test");
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].local, "n1:r0p1");
  EXPECT_EQ((*read)[0].remote, "p00/p00s00/tor-r0-p0:d2");
  EXPECT_EQ((*read)[0].chassis, "leaf-a1");
  EXPECT_EQ((*read)[1].local, "n1:r1p0");
  EXPECT_EQ((*read)[1].remote, "");
  EXPECT_EQ((*read)[1].chassis, "leaf-a1");
}

}  // namespace
}  // namespace yardmaster::agent
