#include "pkg/agent/ports/port_counters.h"

#include <filesystem>

#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

const LocalNicPort kNetwork{0, 0, "eth2", "", 0};
const LocalNicPort kRdma{1, 0, "", "mlx5_1", 1};

TEST(PortCountersTest, OfANetworkDevice) {
  const TempFolder sysfs;
  sysfs.Put("class/net/eth2/speed", "400000\n");
  sysfs.Put("class/net/eth2/carrier_changes", "3\n");
  sysfs.Put("class/net/eth2/statistics/rx_crc_errors", "7\n");
  const PortCounters counters = ReadPortCounters(sysfs.path(), kNetwork);
  EXPECT_EQ(counters.speed_gbps, 400);
  EXPECT_THAT(counters.events, ElementsAre(Pair("carrier-change", 3), Pair("symbol-error", 7)));
}

TEST(PortCountersTest, OfAPortOfAnRdmaDevice) {
  const TempFolder sysfs;
  const std::string port = "class/infiniband/mlx5_1/ports/1/";
  sysfs.Put(port + "rate", "400 Gb/sec (4X NDR)\n");
  sysfs.Put(port + "counters/port_xmit_wait", "18446744073709551615\n");
  sysfs.Put(port + "counters/link_downed", "1\n");
  sysfs.Put(port + "hw_counters/rp_cnp_handled", "12\n");
  const PortCounters counters = ReadPortCounters(sysfs.path(), kRdma);
  EXPECT_EQ(counters.speed_gbps, 400);
  EXPECT_THAT(counters.events, ElementsAre(Pair("congestion-handled", 12), Pair("link-down", 1),
                                           Pair("pause-wait", UINT64_MAX)));
}

TEST(PortCountersTest, WhatIsNotThereIsLeftOut) {
  const TempFolder sysfs;
  sysfs.Put("class/net/eth2/speed", "-1\n");
  sysfs.Put("class/net/eth2/statistics/rx_errors", "N/A (no PMA)\n");
  EXPECT_EQ(ReadPortCounters(sysfs.path(), kNetwork), PortCounters());
  EXPECT_EQ(ReadPortCounters(sysfs.path(), kRdma), PortCounters());
}

// The five counters, "-" for one that is not there.
std::string FramesOf(const TempFolder& sysfs, const LocalNicPort& port) {
  const PortFrames frames =
      ReadPortFrames(sysfs.path(), port, RdmaPortsByNetworkDevice(sysfs.path()));
  std::vector<std::string> texts;
  for (const auto& count : frames.damaged) texts.push_back(count ? StrCat(*count) : "-");
  for (const auto& count : frames.received) texts.push_back(count ? StrCat(*count) : "-");
  return Join(texts, " ");
}

TEST(PortFramesTest, OfANetworkDeviceWithoutRdma) {
  const TempFolder sysfs;
  EXPECT_EQ(FramesOf(sysfs, kNetwork), "- - - - -");
  sysfs.Put("class/net/eth2/statistics/rx_crc_errors", "7\n");
  sysfs.Put("class/net/eth2/statistics/rx_packets", "1000\n");
  EXPECT_EQ(FramesOf(sysfs, kNetwork), "7 - - 1000 -");
}

const char kRdmaFolder[] = "class/infiniband/mlx5_1/ports/1/";

void PutRdmaPort(const TempFolder& sysfs, const char* link_layer) {
  sysfs.Put(StrCat(kRdmaFolder, "link_layer"), StrCat(link_layer, "\n"));
  sysfs.Put(StrCat(kRdmaFolder, "counters/port_rcv_packets"), "5000\n");
  sysfs.Put(StrCat(kRdmaFolder, "counters/port_rcv_errors"), "2\n");
}
// The first GID of the port belongs to this device. It has received 3 frames of every kind.
void PutNetworkDevice(const TempFolder& sysfs, const char* name) {
  sysfs.Put(StrCat(kRdmaFolder, "gid_attrs/ndevs/0"), StrCat(name, "\n"));
  for (const char* counter : {"rx_crc_errors", "rx_frame_errors", "rx_packets"}) {
    sysfs.Put(StrCat("class/net/", name, "/statistics/", counter), "3\n");
  }
}

TEST(PortFramesTest, ARoCePortHasTheErrorsOfItsNetworkDeviceAndThePacketsOfBoth) {
  const TempFolder sysfs;
  PutRdmaPort(sysfs, "Ethernet");
  // The network device is in a pod's namespace: what is damaged is not known.
  EXPECT_EQ(FramesOf(sysfs, kRdma), "- - - - 5000");
  PutNetworkDevice(sysfs, "eth2");
  EXPECT_EQ(FramesOf(sysfs, kRdma), "3 3 - 3 5000");
  EXPECT_EQ(FramesOf(sysfs, kNetwork), "3 3 - 3 5000");
  // Another device's.
  EXPECT_EQ(FramesOf(sysfs, {0, 1, "eth3", "", 0}), "- - - - -");
}

TEST(PortFramesTest, AnInfiniBandPortHasItsOwnErrorsUntilTheirCounterIsFull) {
  const TempFolder sysfs;
  PutRdmaPort(sysfs, "InfiniBand");
  PutNetworkDevice(sysfs, "ib0");
  EXPECT_EQ(FramesOf(sysfs, kRdma), "- - 2 - 5000");
  sysfs.Put(StrCat(kRdmaFolder, "counters/port_rcv_errors"), "65535\n");
  EXPECT_EQ(FramesOf(sysfs, kRdma), "- - - - 5000");
}

TEST(PortFramesTest, WhereAPartOfTheTrafficIsNotCountedNoneIs) {
  // A driver of RDMA without the counter.
  for (const LocalNicPort& port : {kNetwork, kRdma}) {
    const TempFolder sysfs;
    sysfs.Put("class/net/eth2/statistics/rx_crc_errors", "7\n");
    sysfs.Put("class/net/eth2/statistics/rx_packets", "1000\n");
    sysfs.Put(StrCat(kRdmaFolder, "link_layer"), "Ethernet\n");
    sysfs.Put(StrCat(kRdmaFolder, "gid_attrs/ndevs/0"), "eth2\n");
    EXPECT_EQ(FramesOf(sysfs, port), "7 - - - -");
    sysfs.Put(StrCat(kRdmaFolder, "counters/port_rcv_packets"), "5000\n");
    EXPECT_EQ(FramesOf(sysfs, port), "7 - - 1000 5000");
    // Virtual functions have counters of their own.
    for (const char* device : {"class/net/eth2", "class/infiniband/mlx5_1"}) {
      const std::string functions = StrCat(device, "/device/sriov_numvfs");
      sysfs.Put(functions, "8\n");
      EXPECT_EQ(FramesOf(sysfs, port), "7 - - - -");
      sysfs.Put(functions, "0\n");
      EXPECT_EQ(FramesOf(sysfs, port), "7 - - 1000 5000");
    }
  }
}

TEST(PortFramesTest, ThePortsOfABondShareItsRdmaPackets) {
  const TempFolder sysfs;
  sysfs.Put("class/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/0", "bond0\n");
  sysfs.Put("class/infiniband/mlx5_bond_0/ports/1/counters/port_rcv_packets", "5000\n");
  for (const char* interface : {"eth2", "eth3"}) {
    sysfs.Put(StrCat("class/net/", interface, "/statistics/rx_packets"), "10\n");
    std::filesystem::create_symlink("../bond0",
                                    StrCat(sysfs.path(), "/class/net/", interface, "/master"));
  }
  EXPECT_EQ(FramesOf(sysfs, kNetwork), "- - - 10 5000");
  EXPECT_EQ(FramesOf(sysfs, {0, 1, "eth3", "", 0}), "- - - 10 5000");
}

}  // namespace
}  // namespace yardmaster::agent
