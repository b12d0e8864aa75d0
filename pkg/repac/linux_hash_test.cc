// The hash and the groups of the Linux kernel. test/lab/hash compares them with a running kernel.
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

// Members that Linux 6.18 chose with the seed 74565: of 64 equal ones, and of five with the weights
// 1, 1, 2, 5, 1.
struct KernelChoice {
  const char* sip;
  const char* dip;
  std::uint8_t protocol;
  std::uint16_t sport;
  std::uint16_t dport;
  std::size_t members;
  std::size_t chosen;
};
constexpr KernelChoice kKernelChoices[] = {
    {"87.7.215.120", "51.166.13.231", 17, 40823, 16741, 64, 56},
    {"51.97.139.27", "93.63.3.188", 17, 7420, 24366, 64, 35},
    {"69.40.195.205", "29.35.158.159", 6, 26749, 4791, 64, 46},
    {"20.53.198.56", "41.223.42.75", 6, 8304, 4791, 64, 1},
    {"43.240.247.177", "45.247.247.229", 6, 63012, 4791, 64, 7},
    {"73.42.239.38", "53.16.84.78", 17, 19582, 1414, 64, 3},
    {"28.79.90.210", "59.123.178.81", 17, 39059, 44430, 64, 45},
    {"27.65.249.241", "22.243.191.92", 6, 31538, 4791, 64, 39},
    {"66.96.148.216", "21.115.11.182", 17, 1185, 35984, 5, 0},
    {"35.193.62.238", "79.88.131.91", 6, 40876, 4791, 5, 1},
    {"95.191.199.205", "67.220.75.10", 6, 50830, 4791, 5, 3},
    {"46.87.131.157", "66.235.37.88", 6, 61984, 4791, 5, 3},
    {"59.175.81.79", "42.204.20.161", 17, 60569, 4791, 5, 3},
    {"81.41.184.13", "30.252.153.137", 6, 47261, 45166, 5, 2},
    {"52.116.166.108", "38.14.250.235", 17, 2086, 15555, 5, 3},
    {"46.33.251.188", "92.243.33.162", 6, 52538, 32347, 5, 3},
    {"2001:db8:5f7c:2634:f0b:d840:6baf:4b78", "2001:db8:2425:7401:ec08:ffd2:9ed2:da2d", 17, 6989,
     11064, 64, 10},
    {"2001:db8:f5cb:7cf7:b057:bac0:5154:7aa2", "2001:db8:4627:4a80:7857:675e:e6e0:2581", 17, 63964,
     34223, 64, 23},
    {"2001:db8:a080:efe8:7fd3:de28:56a6:2e1c", "2001:db8:16d1:7dea:45b6:83e2:c832:8c50", 6, 24708,
     4791, 64, 23},
    {"2001:db8:b1d1:9665:a9fd:8c9:c277:4e42", "2001:db8:5d09:8f2f:b458:ab16:47e5:d5d1", 6, 4136,
     51513, 64, 11},
    {"2001:db8:f4f6:f20f:570f:a652:2dbb:94a6", "2001:db8:da11:2f6:796b:8c07:c612:402d", 6, 17358,
     50447, 64, 36},
    {"2001:db8:49f0:d111:8016:a5be:ac73:cc31", "2001:db8:5b48:590e:461c:a4e1:5878:bce2", 6, 44017,
     17937, 64, 44},
    {"2001:db8:deb2:ddf1:b036:7325:f9e3:5d41", "2001:db8:f4de:5597:84a4:2450:8782:faee", 17, 22941,
     4791, 64, 5},
    {"2001:db8:eff8:da96:7a2c:4869:b101:142e", "2001:db8:b83d:abbd:baf8:6aa8:2bfc:9de5", 6, 13019,
     54829, 64, 0},
    {"2001:db8:b86d:fefa:712:3212:28f7:9621", "2001:db8:70e9:9fc3:a66e:2e45:3812:c24d", 17, 19836,
     40878, 5, 3},
    {"2001:db8:fc89:78b9:fad1:39eb:2a6e:ddc", "2001:db8:e44d:222e:1c5f:513d:f7cd:2e79", 6, 41345,
     4791, 5, 3},
    {"2001:db8:6a5d:771f:59e1:615b:a99b:9c9e", "2001:db8:126d:9715:3451:3ce3:b7cf:e736", 6, 12673,
     4791, 5, 1},
    {"2001:db8:f3bd:474d:db19:68f8:ddcc:1d75", "2001:db8:b058:d4d4:8c18:5fb6:f6e0:93b", 6, 44,
     22972, 5, 3},
    {"2001:db8:f37b:94b5:4b0e:f553:5a03:d18a", "2001:db8:2110:6b4a:68c4:d020:905d:a46d", 6, 6215,
     19352, 5, 3},
    {"2001:db8:988f:61fb:9059:7a1e:f50b:32fb", "2001:db8:f7ce:220b:9bcd:1740:59e2:d23c", 17, 30637,
     4791, 5, 2},
    {"2001:db8:90d9:ea9e:9d7b:8a17:2404:5350", "2001:db8:a124:e062:e42b:9075:6037:6de0", 6, 25026,
     7073, 5, 3},
    {"2001:db8:4a9f:7ac5:f8f2:b553:6139:6246", "2001:db8:f60d:dade:e9eb:28b6:9887:980d", 6, 64008,
     14834, 5, 2},
};

TEST(LinuxHashTest, ChoosesAsTheKernelDid) {
  const HashModel model = Compiled(LinuxSpec(74565));
  for (const KernelChoice& choice : kKernelChoices) {
    const Packet packet =
        PacketOf(choice.sip, choice.dip, choice.protocol, choice.sport, choice.dport);
    const Thresholds thresholds =
        choice.members == 64 ? EqualThresholds(64) : ThresholdsOf(std::vector<int>{1, 1, 2, 5, 1});
    EXPECT_EQ(MemberOf(model.Hash(packet), choice.members, thresholds), choice.chosen)
        << choice.sip << " " << choice.sport;
  }
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
  const ForwardingModel forwarding = fabric.Forwarding();
  const NicPort src{HostId(0), 0, 0};
  const NicPort dst{HostId(fabric.network->places().num_hosts() - 1), 0, 0};
  const Group& group = forwarding.group(fabric.network->tor(src), false, dst);
  ASSERT_GT(group.slots.size(), 1u);
  ASSERT_EQ(group.thresholds.size(), group.slots.size());
  for (LinkId uplink : group.slots) {
    const auto targets = TargetsOf(forwarding, src, dst, std::array{uplink});
    ASSERT_TRUE(targets.ok()) << targets.status();
    const auto port = FindPort(*targets, {}, 0xD000);
    ASSERT_TRUE(port.ok()) << port.status();
    const auto path = PredictPath(forwarding, src, dst, *port);
    ASSERT_TRUE(path.ok() && path->predictable);
    EXPECT_EQ(path->links[1], uplink);
  }
}

TEST(LinuxGroupTest, WeightsOfTheMembersThatAreLeftDecideAfterALoss) {
  const HashedNetwork plain(LinuxFabric());
  const NicPort src{HostId(0), 0, 0};
  const NicPort dst{HostId(plain.network->places().num_hosts() - 1), 0, 0};
  const SwitchId tor = plain.network->tor(src);
  const std::size_t members = plain.Forwarding().group(tor, false, dst).slots.size();
  std::vector<int> weights;
  for (std::size_t i = 0; i < members; ++i) weights.push_back(static_cast<int>(1 + i % 3));
  const HashedNetwork weighted(LinuxFabric(weights));
  const ForwardingModel whole = weighted.Forwarding();
  const Group& group = whole.group(tor, false, dst);
  EXPECT_EQ(group.slots.size(), members);
  EXPECT_EQ(group.thresholds, ThresholdsOf(weights));
  const CableId lost = fabric::Network::cable_of(group.slots[1]);
  const ForwardingModel after = weighted.Forwarding({lost});
  weights.erase(weights.begin() + 1);
  EXPECT_EQ(after.group(tor, false, dst).slots.size(), members - 1);
  EXPECT_EQ(after.group(tor, false, dst).thresholds, ThresholdsOf(weights));
}

}  // namespace
}  // namespace yardmaster::repac
