#include "pkg/repac/hash_model.h"

#include <algorithm>
#include <bit>
#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/repac/reference_hash.h"

namespace yardmaster::repac {
namespace {

using fabric::Bmv2Calculation;
using fabric::HashField;
using fabric::HashKind;
using fabric::HashSpec;
using fabric::Rtag7Function;
using fabric::SaiAlgorithm;

HashModel Compiled(const HashSpec& spec) {
  auto model = HashModel::Compile(spec);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

HashSpec CrcSpec() {
  HashSpec spec;
  spec.kind = HashKind::kCrc;
  return spec;
}

HashSpec Rtag7Spec(Rtag7Function function, bool pre_mix = false) {
  HashSpec spec;
  spec.kind = HashKind::kRtag7;
  spec.rtag7.function = function;
  spec.rtag7.pre_mix = pre_mix;
  spec.seed = 0x12345678;
  return spec;
}

constexpr Rtag7Function kAllRtag7[] = {
    Rtag7Function::kCrc16Bisync,    Rtag7Function::kCrc16Ccitt,     Rtag7Function::kCrc32cLo,
    Rtag7Function::kCrc32cHi,       Rtag7Function::kCrc32Lo,        Rtag7Function::kCrc32Hi,
    Rtag7Function::kCrc32KoopmanLo, Rtag7Function::kCrc32KoopmanHi, Rtag7Function::kXor16,
    Rtag7Function::kCrc16Xor1,      Rtag7Function::kCrc16Xor2,      Rtag7Function::kCrc16Xor4,
    Rtag7Function::kCrc16Xor8};

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

Packet RandomPacket(Random& random, bool v6) {
  Packet packet;
  packet.sip.v6 = packet.dip.v6 = v6;
  for (std::size_t i = 0; i < packet.sip.size(); ++i) {
    packet.sip.bytes[i] = static_cast<std::uint8_t>(random.Below(256));
    packet.dip.bytes[i] = static_cast<std::uint8_t>(random.Below(256));
  }
  packet.protocol = static_cast<std::uint8_t>(random.Below(256));
  packet.sport = static_cast<std::uint16_t>(random.Below(65536));
  packet.dport = static_cast<std::uint16_t>(random.Below(65536));
  packet.ingress_port = static_cast<std::uint16_t>(random.Below(65536));
  return packet;
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

TEST(HashModelTest, ColumnsAreTheLinearPart) {
  Random random(13);
  const HashModel model = Compiled(Rtag7Spec(Rtag7Function::kCrc32cLo, true));
  Packet packet = RandomPacket(random, false);
  const std::vector<std::uint32_t>& columns = model.Columns(packet);
  ASSERT_EQ(columns.size(), 15u * 8u);
  const std::uint64_t before = model.Hash(packet);
  packet.sport ^= 1;
  packet.sip.bytes[0] ^= 0x80;
  EXPECT_EQ(before ^ model.Hash(packet), columns[0] ^ columns[10 * 8 + 7]);
}

// RTAG7 of one packet written out by hand, with a table-driven CRC that shares nothing with Crc().
std::uint32_t ByTable(std::uint32_t polynomial, int width, const std::vector<std::uint8_t>& data) {
  // Reflected algorithm; its result is the reflection of what refout=false gives.
  std::uint32_t reflected = 0;
  for (int i = 0; i < width; ++i) reflected |= (polynomial >> i & 1) << (width - 1 - i);
  std::uint32_t table[256];
  for (std::uint32_t i = 0; i < 256; ++i) {
    table[i] = i;
    for (int k = 0; k < 8; ++k) table[i] = table[i] >> 1 ^ ((table[i] & 1) != 0 ? reflected : 0);
  }
  std::uint32_t crc = 0;
  for (std::uint8_t byte : data) crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF];
  std::uint32_t out = 0;
  for (int i = 0; i < width; ++i) out |= (crc >> i & 1) << (width - 1 - i);
  return out;
}

TEST(Rtag7Test, KeyIsSixWordsOfBinsAndTheSeed) {
  Packet packet;
  packet.sip = IpAddress::V4(0x0A010203);
  packet.dip = IpAddress::V4(0x0A040506);
  packet.protocol = 17;
  packet.sport = 0xC0DE;
  packet.dport = 4791;  // 0x12B7
  packet.ingress_port = 0x55;
  // Words 0 and 1: bins 0 to 3, the ingress port not among the fields. Word 2: bin 4 protocol, bin
  // 5 destination port. Word 3: bin 6 source port, bin 7 VLAN. Words 4, 5: addresses. Word 6: seed.
  const std::vector<std::uint32_t> words = {0,          0,          0x12B70011, 0x0000C0DE,
                                            0x0A040506, 0x0A010203, 0x12345678};
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<std::uint8_t>(word >> shift & 0xFF));
    }
  }
  const auto hash = [&packet](Rtag7Function f) { return Compiled(Rtag7Spec(f)).Hash(packet); };
  const std::uint32_t castagnoli = ByTable(0x1EDC6F41, 32, bytes);
  EXPECT_EQ(hash(Rtag7Function::kCrc32cLo), castagnoli & 0xFFFF);
  EXPECT_EQ(hash(Rtag7Function::kCrc32cHi), castagnoli >> 16);
  const std::uint32_t koopman = ByTable(0x741B8CD7, 32, bytes);
  EXPECT_EQ(hash(Rtag7Function::kCrc32KoopmanLo), koopman & 0xFFFF);
  EXPECT_EQ(hash(Rtag7Function::kCrc32KoopmanHi), koopman >> 16);
  const std::uint32_t ethernet = ByTable(0x04C11DB7, 32, bytes);
  EXPECT_EQ(hash(Rtag7Function::kCrc32Lo), ethernet & 0xFFFF);
  EXPECT_EQ(hash(Rtag7Function::kCrc32Hi), ethernet >> 16);
  EXPECT_EQ(hash(Rtag7Function::kCrc16Bisync), ByTable(0x8005, 16, bytes));
  EXPECT_EQ(hash(Rtag7Function::kCrc16Ccitt), ByTable(0x1021, 16, bytes));
  std::uint32_t all = 0;
  for (std::uint32_t word : words) all ^= word;
  const std::uint32_t xor16 = (all & 0xFFFF) ^ all >> 16;
  EXPECT_EQ(hash(Rtag7Function::kXor16), xor16);
  const std::uint32_t upper = ByTable(0x8005, 16, bytes) & 0xFF00;
  EXPECT_EQ(hash(Rtag7Function::kCrc16Xor8), upper | ((xor16 ^ xor16 >> 8) & 0xFF));
  EXPECT_EQ(hash(Rtag7Function::kCrc16Xor1),
            upper | static_cast<std::uint32_t>(std::popcount(xor16) & 1));
}

TEST(Rtag7Test, PreMixWorksOnEveryBinButNotTheSeed) {
  HashSpec spec = Rtag7Spec(Rtag7Function::kXor16, true);
  spec.fields = {HashField::kSport};
  Packet packet;
  packet.sport = 0xC123;
  const std::uint32_t mixed = (0xC123u ^ 0xC123u >> 3 ^ 0xC123u << 2) & 0xFFFF;
  EXPECT_EQ(Compiled(spec).Hash(packet), mixed ^ 0x1234u ^ 0x5678u);
}

TEST(Rtag7Test, FieldOrderDoesNotMatterAndTheSetDoes) {
  Random random(3);
  HashSpec forward = Rtag7Spec(Rtag7Function::kCrc32Hi);
  HashSpec backward = forward;
  std::reverse(backward.fields.begin(), backward.fields.end());
  HashSpec fewer = forward;
  fewer.fields.pop_back();
  const Packet packet = RandomPacket(random, false);
  EXPECT_EQ(Compiled(forward).Hash(packet), Compiled(backward).Hash(packet));
  EXPECT_NE(Compiled(forward).Hash(packet), Compiled(fewer).Hash(packet));
}

TEST(Rtag7Test, Ipv6AddressesAreFoldedToOneWord) {
  HashSpec spec = Rtag7Spec(Rtag7Function::kXor16);
  spec.seed = 0;
  spec.fields = {HashField::kSip};
  Packet packet;
  packet.sip = *IpAddress::Parse("1:2:4:8:10:20:40:80");
  packet.dip = *IpAddress::Parse("::1");
  EXPECT_EQ(Compiled(spec).Hash(packet), 0x00FFu);
  spec.rtag7.ipv6_fold = fabric::Ipv6Fold::kLowWord;
  EXPECT_EQ(Compiled(spec).Hash(packet), 0x00C0u);
}

TEST(Rtag7Test, TablesByIngressPortAndClassDecideWhatAPacketMeets) {
  HashSpec spec = Rtag7Spec(Rtag7Function::kCrc32cLo);
  spec.ingress_ports = {{1, 4, Rtag7Function::kXor16, true, 99u, 7, {HashField::kSport}},
                        {6, 9, std::nullopt, std::nullopt, std::nullopt, 2, {}}};
  spec.rtag7.other_fields = {HashField::kSip, HashField::kDip};
  const HashModel model = Compiled(spec);
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    Packet packet = RandomPacket(random, i % 2 == 0);
    packet.ingress_port = static_cast<std::uint16_t>(i % 12);
    packet.protocol = i % 3 == 0 ? 1 : kProtocolUdp;
    const HashSpec plain = SpecFor(spec, packet);
    ASSERT_EQ(model.Hash(packet), ReferenceHash(plain, packet));
    if (packet.ingress_port == 2) {
      EXPECT_EQ(plain.seed, 99u);
      EXPECT_EQ(plain.rtag7.function, Rtag7Function::kXor16);
    }
    if (packet.ingress_port == 0 && packet.protocol == 1) {
      EXPECT_EQ(plain.fields.size(), 2u);
    }
  }
}

TEST(CrcModelTest, KeyIsTheFieldsInOrderBigEndian) {
  HashSpec spec = CrcSpec();
  spec.keep_bits = 32;
  spec.fields = {HashField::kDport, HashField::kSip, HashField::kProtocol};
  Packet packet;
  packet.sip = IpAddress::V4(0x33343536);  // "3456"
  packet.dip = packet.sip;
  packet.dport = 0x3132;   // "12"
  packet.protocol = 0x37;  // "7"
  // CRC-32 of "1234567" as every zip program knows it.
  EXPECT_EQ(Compiled(spec).Hash(packet), 0x5003699Fu);
}

TEST(CrcModelTest, SeedRotationAndMaskAreAppliedInThatOrder) {
  Random random(6);
  HashSpec spec = CrcSpec();
  spec.keep_bits = 32;
  const Packet packet = RandomPacket(random, false);
  HashSpec seeded = spec;
  seeded.seed = 0x00C0FFEE;
  HashSpec by_init = spec;
  by_init.crc.init ^= 0x00C0FFEE;
  EXPECT_EQ(Compiled(seeded).Hash(packet), Compiled(by_init).Hash(packet));
  const auto whole = static_cast<std::uint32_t>(Compiled(spec).Hash(packet));
  spec.rotate_right = 9;
  spec.keep_bits = 13;
  EXPECT_EQ(Compiled(spec).Hash(packet), std::rotr(whole, 9) & 0x1FFF);
}

TEST(HashModelTest, UnpredictableOnesSayWhy) {
  HashSpec spec;
  EXPECT_EQ(Compiled(spec).reason(), "no hash is described");
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
      packet.sip = IpAddress::V4(0x0A000000 | static_cast<std::uint32_t>(random.Below(1 << 20)));
      packet.dip = IpAddress::V4(0x0A000000 | static_cast<std::uint32_t>(random.Below(1 << 20)));
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
