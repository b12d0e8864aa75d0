#include "pkg/agent/ports/port_counters.h"

#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"

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

}  // namespace
}  // namespace yardmaster::agent
