// The hash and the groups of the Linux kernel. test/lab/hash compares them with a running kernel;
// the values here were read from Linux 6.18.
#include <array>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/repac/checksums.h"
#include "pkg/repac/path.h"
#include "pkg/repac/port_search.h"
#include "pkg/repac/testing/networks.h"

namespace yardmaster::repac {
namespace {

using fabric::HashKind;
using fabric::HashSpec;
using fabric::HostId;

HashSpec LinuxSpec(std::uint32_t seed) {
  HashSpec spec;
  spec.kind = HashKind::kLinux;
  spec.seed = seed;
  return spec;
}

HashModel Compiled(const HashSpec& spec) {
  auto model = HashModel::Compile(spec);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

Packet PacketOf(const char* sip, const char* dip, std::uint8_t protocol, std::uint16_t sport,
                std::uint16_t dport) {
  Packet packet;
  packet.sip = *IpAddress::Parse(sip);
  packet.dip = *IpAddress::Parse(dip);
  packet.protocol = protocol;
  packet.sport = sport;
  packet.dport = dport;
  return packet;
}

TEST(SipHashTest, GivesTheValuesOfTheReferenceVectors) {
  // vectors_sip64 of the authors' reference implementation: key 00..0f, inputs 00, 00 01, ...
  constexpr std::uint64_t kK0 = 0x0706050403020100;
  constexpr std::uint64_t kK1 = 0x0f0e0d0c0b0a0908;
  std::vector<std::uint8_t> data;
  EXPECT_EQ(SipHash24(data, kK0, kK1), 0x726fdb47dd0e0e31u);
  data.push_back(0);
  EXPECT_EQ(SipHash24(data, kK0, kK1), 0x74f839c593dc67fdu);
  data.resize(15);
  std::iota(data.begin(), data.end(), std::uint8_t{0});
  EXPECT_EQ(SipHash24(data, kK0, kK1), 0xa129ca6149be45e5u);
}

TEST(HashThresholdTest, SharesTheRangeByWeightAndCoversAllOfIt) {
  EXPECT_EQ(EqualThresholds(2), (Thresholds{0x3FFFFFFF, 0x7FFFFFFF}));
  // 2^31 / 3 is 715827882.67, and 2 * 2^31 / 3 is 1431655765.33.
  EXPECT_EQ(EqualThresholds(3), (Thresholds{715827882, 1431655764, 0x7FFFFFFF}));
  EXPECT_EQ(ThresholdsOf(std::vector<int>{1, 1, 2}),
            (Thresholds{0x1FFFFFFF, 0x3FFFFFFF, 0x7FFFFFFF}));
  EXPECT_EQ(MemberOf(0x1FFFFFFF, 3, ThresholdsOf(std::vector<int>{1, 1, 2})), 0u);
  EXPECT_EQ(MemberOf(0x20000000, 3, ThresholdsOf(std::vector<int>{1, 1, 2})), 1u);
  EXPECT_EQ(MemberOf(0x7FFFFFFF, 3, ThresholdsOf(std::vector<int>{1, 1, 2})), 2u);
  EXPECT_EQ(MemberOf(7, 3, {}), 1u);
}

TEST(LinuxHashTest, BothDirectionsOfAConnectionHashAlike) {
  Random random(3);
  const HashModel model = Compiled(LinuxSpec(74565));
  EXPECT_FALSE(model.linear());
  for (int i = 0; i < 200; ++i) {
    Packet there = PacketOf(i % 2 == 0 ? "10.1.2.3" : "2001:db8::1",
                            i % 2 == 0 ? "10.9.0.1" : "2001:db8:1::7", 17, 0, 4791);
    there.sport = static_cast<std::uint16_t>(random.Below(65536));
    there.dip.bytes[3] = static_cast<std::uint8_t>(random.Below(256));
    Packet back = there;
    std::swap(back.sip, back.dip);
    std::swap(back.sport, back.dport);
    EXPECT_EQ(model.Hash(there), model.Hash(back));
    EXPECT_LT(model.Hash(there), std::uint64_t{1} << 31);
  }
}

TEST(LinuxHashTest, ProtocolsWithoutPortsIgnoreThem) {
  const HashModel model = Compiled(LinuxSpec(1));
  EXPECT_EQ(model.Hash(PacketOf("10.0.0.1", "10.0.0.2", 1, 1, 2)),
            model.Hash(PacketOf("10.0.0.1", "10.0.0.2", 1, 3, 4)));
  EXPECT_NE(model.Hash(PacketOf("10.0.0.1", "10.0.0.2", 6, 1, 2)),
            model.Hash(PacketOf("10.0.0.1", "10.0.0.2", 6, 3, 4)));
}

TEST(LinuxHashTest, RefusesWhatTheKernelCannotDo) {
  EXPECT_FALSE(HashModel::Compile(LinuxSpec(0)).ok());
  HashSpec spec = LinuxSpec(1);
  spec.rotate_right = 1;
  EXPECT_FALSE(HashModel::Compile(spec).ok());
  spec = LinuxSpec(1);
  spec.keep_bits = 16;
  EXPECT_FALSE(HashModel::Compile(spec).ok());
  spec = LinuxSpec(1);
  spec.fields.pop_back();
  EXPECT_FALSE(HashModel::Compile(spec).ok());
  spec = LinuxSpec(1);
  spec.lag = std::make_shared<const HashSpec>(LinuxSpec(2));
  EXPECT_FALSE(HashModel::Compile(spec).ok());
}

fabric::FabricSpec LinuxFabric(std::vector<int> weights = {}) {
  fabric::FabricSpec spec = fabric::SmallHpn(2, 2, 3);
  std::uint32_t seed = 1;
  for (const fabric::Tier& tier : spec.tiers) {
    spec.ecmp_hash[tier.role] = LinuxSpec(seed++);
    spec.ecmp_hash[tier.role].group.weights = weights;
  }
  return spec;
}

TEST(LinuxGroupTest, PortSearchReachesEveryUplinkByTrial) {
  const HashedNetwork fabric(LinuxFabric());
  const ForwardingModel state = fabric.ClusterState();
  const NicPort src{HostId(0), 0, 0};
  const NicPort dst{HostId(fabric.network->places().num_hosts() - 1), 0, 0};
  const Group& group = state.group(fabric.network->tor(src), false, dst);
  ASSERT_GT(group.slots.size(), 1u);
  ASSERT_EQ(group.thresholds.size(), group.slots.size());
  for (LinkId uplink : group.slots) {
    const auto targets = TargetsOf(state, src, dst, std::array{uplink});
    ASSERT_TRUE(targets.ok()) << targets.status();
    const auto port = FindPort(*targets, {}, 0xD000);
    ASSERT_TRUE(port.ok()) << port.status();
    const auto path = PredictPath(state, src, dst, *port);
    ASSERT_TRUE(path.ok() && path->predictable);
    EXPECT_EQ(path->links[1], uplink);
  }
}

TEST(LinuxGroupTest, WeightsOfTheMembersThatAreLeftDecideAfterALoss) {
  const HashedNetwork plain(LinuxFabric());
  const NicPort src{HostId(0), 0, 0};
  const NicPort dst{HostId(plain.network->places().num_hosts() - 1), 0, 0};
  const SwitchId tor = plain.network->tor(src);
  const std::size_t members = plain.ClusterState().group(tor, false, dst).slots.size();
  std::vector<int> weights;
  for (std::size_t i = 0; i < members; ++i) weights.push_back(static_cast<int>(1 + i % 3));
  const HashedNetwork weighted(LinuxFabric(weights));
  const ForwardingModel whole = weighted.ClusterState();
  const Group& group = whole.group(tor, false, dst);
  EXPECT_EQ(group.slots.size(), members);
  EXPECT_EQ(group.thresholds, ThresholdsOf(weights));
  const CableId lost = fabric::Network::cable_of(group.slots[1]);
  const ForwardingModel after = weighted.ClusterState({lost});
  weights.erase(weights.begin() + 1);
  EXPECT_EQ(after.group(tor, false, dst).slots.size(), members - 1);
  EXPECT_EQ(after.group(tor, false, dst).thresholds, ThresholdsOf(weights));
}

}  // namespace
}  // namespace yardmaster::repac
