#include "pkg/operator/telemetry/network_faults.h"

#include <gtest/gtest.h>
#include <memory>

#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::op {
namespace {

using fabric::CableId;

TEST(DropFabricWideLossTest, MoreThanHalfOfAllPortsAreNotBelieved) {
  const fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 4);
  const auto places = std::make_shared<const fabric::Places>(fabric::PlacesOf(spec));
  const fabric::Network network = fabric::Network::Build(spec, places).value();
  std::vector<CableId> ports;
  for (int c = 0; c < network.num_cables(); ++c) {
    if (network.is_host_cable(CableId(c))) ports.push_back(CableId(c));
  }
  ASSERT_GE(ports.size(), 16u);
  std::vector<std::uint8_t> down(static_cast<std::size_t>(network.num_cables()), 0);
  for (std::size_t i = 0; i < ports.size() / 2; ++i) down[ports[i].index()] = 1;
  EXPECT_EQ(DropFabricWideLoss(network, down), 0) << "a plane of two may be lost";
  EXPECT_FALSE(down.empty());
  down[ports[ports.size() / 2].index()] = 1;
  EXPECT_EQ(DropFabricWideLoss(network, down), static_cast<int>(ports.size() / 2 + 1));
  EXPECT_TRUE(down.empty());
  EXPECT_EQ(DropFabricWideLoss(network, down), 0);
}

class FaultWatchTest : public ::testing::Test {
 protected:
  CableStates At(std::int64_t now_ms, std::vector<std::uint8_t> reported) {
    return watch_.Observe(reported, now_ms);
  }
  FaultTracker watch_{{.hold_ms = 30'000, .max_hold_ms = 100'000, .memory_ms = 600'000}, 3'000};
};

TEST_F(FaultWatchTest, ALostCableIsAvoidedThenDownThenHeldThenUsed) {
  At(0, {0, 0, 0});
  CableStates states = At(1'000, {0, 1, 0});
  EXPECT_TRUE(states.down.empty());
  EXPECT_EQ(states.avoid, std::vector<CableId>{CableId(1)});
  EXPECT_EQ(states.next_change_ms, 4'000);
  states = At(4'000, {0, 1, 0});
  EXPECT_EQ(states.down, (std::vector<std::uint8_t>{0, 1, 0}));
  EXPECT_TRUE(states.avoid.empty());
  EXPECT_EQ(states.next_change_ms, -1);
  states = At(10'000, {0, 0, 0});
  EXPECT_TRUE(states.down.empty());
  EXPECT_EQ(states.avoid, std::vector<CableId>{CableId(1)});
  EXPECT_EQ(states.held, 1);
  EXPECT_EQ(states.next_change_ms, 40'000);
  states = At(40'000, {0, 0, 0});
  EXPECT_TRUE(states.avoid.empty());
  EXPECT_EQ(states.held, 0);
}

TEST_F(FaultWatchTest, WhatIsDownAtTheStartWasNoticedLongAgo) {
  EXPECT_EQ(At(0, {1, 0}).down, (std::vector<std::uint8_t>{1, 0}));
  watch_.Reset();
  EXPECT_EQ(At(50, {0, 1}).down, (std::vector<std::uint8_t>{0, 1}));
}

TEST_F(FaultWatchTest, EveryFurtherLossHoldsTheCableBackTwiceAsLongUpToALimit) {
  At(0, {0});
  std::int64_t now = 0;
  for (const std::int64_t hold : {30'000, 60'000, 100'000, 100'000}) {
    now += 1'000;
    At(now, {1});
    now += 1'000;
    EXPECT_EQ(At(now, {0}).next_change_ms, now + hold);
  }
}

TEST(DownLinksTest, NamesCablesAndSwitchesAndTellsUnknownOnes) {
  const fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 4);
  const auto network =
      fabric::Network::Build(spec, std::make_shared<const fabric::Places>(fabric::PlacesOf(spec)))
          .value();
  const fabric::SwitchId tor = network.tor({fabric::HostId(0), 0, 0});
  const std::string uplink = network.name(network.up_cable(tor, 1));
  auto read = ReadDownLinks(network, R"({"version":1,"links":[")" + uplink + R"(","x"]})");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->cables, std::vector<CableId>{network.up_cable(tor, 1)});
  EXPECT_EQ(read->unknown, std::vector<std::string>{"x"});
  // All up and down cables of a ToR: its uplinks, and one for each host of the segment.
  read = ReadDownLinks(network, R"({"version":1,"switches":[")" + network.name(tor) + R"("]})");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(static_cast<int>(read->cables.size()), network.num_up_ports(tor) + 4);
}

}  // namespace
}  // namespace yardmaster::op
