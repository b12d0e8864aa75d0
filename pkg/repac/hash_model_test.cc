#include "pkg/repac/hash_model.h"

#include <algorithm>
#include <bit>
#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/base/testing/ipv4.h"
#include "pkg/repac/reference_hash.h"
#include "pkg/repac/testing/hash_specs.h"

namespace yardmaster::repac {
namespace {

using fabric::Bmv2Calculation;
using fabric::HashField;
using fabric::HashKind;
using fabric::HashSpec;
using fabric::Rtag7Function;
using fabric::SaiAlgorithm;

std::vector<HashSpec> LinearSpecs() {
  std::vector<HashSpec> specs;
  HashSpec crc = CrcSpec();
  specs.push_back(crc);
  crc.crc = {16, 0x1021, 0xFFFF, false, false, 0};
  crc.seed = 0xBEEF;
  crc.rotate_right = 5;
  specs.push_back(crc);
  crc.crc = {64, 0x42f0e1eba9ea3693, ~0ULL, true, true, ~0ULL};
  crc.rotate_right = 40;
  crc.keep_bits = 31;
  specs.push_back(crc);
  for (Rtag7Function function : kAllRtag7) {
    specs.push_back(Rtag7Spec(function));
    specs.push_back(Rtag7Spec(function, true));
    specs.back().rotate_right = 3;
    specs.back().keep_bits = 11;
    specs.back().rtag7.ipv6_fold = fabric::Ipv6Fold::kLowWord;
  }
  for (SaiAlgorithm algorithm :
       {SaiAlgorithm::kCrc, SaiAlgorithm::kXor, SaiAlgorithm::kCrc32Lo, SaiAlgorithm::kCrc32Hi,
        SaiAlgorithm::kCrcCcitt, SaiAlgorithm::kCrcXor, SaiAlgorithm::kNone}) {
    HashSpec spec;
    spec.kind = HashKind::kSai;
    spec.sai = algorithm;
    spec.seed = 25;
    spec.rotate_right = 10;
    specs.push_back(spec);
  }
  HashSpec simple;
  simple.kind = HashKind::kXor16;
  specs.push_back(simple);
  simple.kind = HashKind::kToeplitz;
  specs.push_back(simple);
  for (Bmv2Calculation calculation :
       {Bmv2Calculation::kCrc16, Bmv2Calculation::kCrcCcitt, Bmv2Calculation::kCrc32,
        Bmv2Calculation::kXor16, Bmv2Calculation::kXor32, Bmv2Calculation::kToeplitz}) {
    HashSpec spec;
    spec.kind = HashKind::kBmv2;
    spec.bmv2 = calculation;
    specs.push_back(spec);
  }
  HashSpec identity;
  identity.kind = HashKind::kBmv2;
  identity.bmv2 = Bmv2Calculation::kIdentity;
  identity.fields = {HashField::kSport, HashField::kDport};
  identity.keep_bits = 32;
  specs.push_back(identity);
  return specs;
}

std::vector<HashSpec> CrookedSpecs() {
  HashSpec spec;
  spec.kind = HashKind::kBmv2;
  spec.bmv2 = Bmv2Calculation::kCsum16;
  HashSpec other = spec;
  other.bmv2 = Bmv2Calculation::kXxh64;
  return {spec, other};
}

Packet Xor(const Packet& a, const Packet& b) {
  Packet out = a;
  for (std::size_t i = 0; i < 16; ++i) {
    out.sip.bytes[i] ^= b.sip.bytes[i];
    out.dip.bytes[i] ^= b.dip.bytes[i];
  }
  out.protocol ^= b.protocol;
  out.sport ^= b.sport;
  out.dport ^= b.dport;
  out.ingress_port ^= b.ingress_port;
  return out;
}

// Random triples a, b, c for which h(a) ^ h(b) ^ h(c) = h(a ^ b ^ c), of 300.
int AffineTriples(const HashSpec& spec, bool v6) {
  Random random(7);
  int good = 0;
  for (int i = 0; i < 300; ++i) {
    const Packet a = RandomPacket(random, v6);
    const Packet b = RandomPacket(random, v6);
    const Packet c = RandomPacket(random, v6);
    const std::uint64_t sum =
        ReferenceHash(spec, a) ^ ReferenceHash(spec, b) ^ ReferenceHash(spec, c);
    if (sum == ReferenceHash(spec, Xor(Xor(a, b), c))) ++good;
  }
  return good;
}

TEST(HashModelTest, EveryLinearModelIsAffine) {
  for (const HashSpec& spec : LinearSpecs()) {
    const HashModel model = Compiled(spec);
    EXPECT_TRUE(model.linear());
    EXPECT_EQ(AffineTriples(spec, false), 300);
    EXPECT_EQ(AffineTriples(spec, true), 300);
  }
}

TEST(HashModelTest, EveryOtherModelIsNot) {
  for (const HashSpec& spec : CrookedSpecs()) {
    const HashModel model = Compiled(spec);
    EXPECT_TRUE(model.predictable());
    EXPECT_FALSE(model.linear());
    EXPECT_LT(AffineTriples(spec, false), 20);
    EXPECT_LT(AffineTriples(spec, true), 20);
  }
}

TEST(HashModelTest, CompiledFormAgreesWithTheDefinition) {
  Random random(11);
  std::vector<HashSpec> specs = LinearSpecs();
  for (const HashSpec& spec : CrookedSpecs()) specs.push_back(spec);
  for (const HashSpec& spec : specs) {
    const HashModel model = Compiled(spec);
    for (int i = 0; i < 100; ++i) {
      const Packet packet = RandomPacket(random, i % 2 == 1);
      ASSERT_EQ(model.Hash(packet), ReferenceHash(spec, packet));
    }
  }
}

TEST(HashModelTest, PortFunctionAgreesForEveryPort) {
  Random random(12);
  std::vector<HashSpec> specs = LinearSpecs();
  for (const HashSpec& spec : CrookedSpecs()) specs.push_back(spec);
  for (const HashSpec& spec : specs) {
    const HashModel model = Compiled(spec);
    Packet packet = RandomPacket(random, false);
    packet.protocol = kProtocolUdp;
    const PortFunction function = model.OverPorts(packet);
    for (unsigned port = 0xC000; port <= 0xFFFF; port += 37) {
      packet.sport = static_cast<std::uint16_t>(port);
      ASSERT_EQ(function(packet.sport), model.Hash(packet));
    }
  }
}

TEST(HashModelTest, UnpredictableOnesSayWhy) {
  HashSpec spec;
  EXPECT_EQ(Compiled(spec).reason(), "no hash is described");
  spec.reason.clear();
  EXPECT_FALSE(Compiled(spec).predictable());
  EXPECT_EQ(Compiled(spec).reason(), "no reason is given");
  spec.kind = HashKind::kSai;
  spec.sai = SaiAlgorithm::kRandom;
  EXPECT_EQ(Compiled(spec).reason(), "per-packet random");
  spec.sai = SaiAlgorithm::kCrc;
  EXPECT_TRUE(Compiled(spec).predictable());
  spec.group.adaptive_routing = true;
  EXPECT_FALSE(Compiled(spec).predictable());
  spec.group.adaptive_routing = false;
  spec.fields.push_back(HashField::kDestQp);
  EXPECT_FALSE(Compiled(spec).predictable());
  HashSpec rtag7 = Rtag7Spec(Rtag7Function::kCrc32cLo);
  rtag7.rtag7.flow_select = true;
  EXPECT_FALSE(Compiled(rtag7).predictable());
}

TEST(HashModelTest, RefusesWhatCannotBeComputed) {
  HashSpec spec = CrcSpec();
  spec.crc.width = 65;
  EXPECT_FALSE(HashModel::Compile(spec).ok());
  spec.crc = {16, 0x11021, 0, false, false, 0};
  EXPECT_FALSE(HashModel::Compile(spec).ok());
  spec.crc = {16, 0x1021, 0, false, false, 0};
  spec.rotate_right = 16;
  EXPECT_FALSE(HashModel::Compile(spec).ok());
  spec.rotate_right = 0;
  spec.fields = {HashField::kSip, HashField::kSip};
  EXPECT_FALSE(HashModel::Compile(spec).ok());
  spec.fields = {};
  const auto status = HashModel::Compile(spec).status();
  EXPECT_NE(status.message().find("ecmpHash.fields"), absl::string_view::npos) << status;
}

// Ports per uplink of 60 for one pair of addresses: every uplink can always be reached.
TEST(HashModelTest, EveryUplinkOfSixtyHasHundredsOfPorts) {
  Random random(9);
  for (Rtag7Function function : kAllRtag7) {
    if (function >= Rtag7Function::kCrc16Xor1) continue;
    const HashModel model = Compiled(Rtag7Spec(function));
    for (int pair = 0; pair < 20; ++pair) {
      Packet packet;
      packet.sip = Ipv4(0x0A000000 | static_cast<std::uint32_t>(random.Below(1 << 20)));
      packet.dip = Ipv4(0x0A000000 | static_cast<std::uint32_t>(random.Below(1 << 20)));
      std::vector<int> population(60);
      for (unsigned port = 0xC000; port <= 0xFFFF; ++port) {
        packet.sport = static_cast<std::uint16_t>(port);
        ++population[model.Hash(packet) % 60];
      }
      const auto [low, high] = std::minmax_element(population.begin(), population.end());
      // The low half of the Koopman CRC spreads the source port worst of all.
      const bool koopman_low = function == Rtag7Function::kCrc32KoopmanLo;
      EXPECT_GE(*low, koopman_low ? 200 : 225);
      EXPECT_LE(*high, koopman_low ? 420 : 320);
    }
  }
}

}  // namespace
}  // namespace yardmaster::repac
