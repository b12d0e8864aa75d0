// What of a packet goes into a hash, and in which order.
#include <algorithm>
#include <bit>
#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/base/testing/ipv4.h"
#include "pkg/repac/hash_model.h"
#include "pkg/repac/reference_hash.h"
#include "pkg/repac/testing/hash_specs.h"

namespace yardmaster::repac {
namespace {

using fabric::HashField;
using fabric::HashSpec;
using fabric::Rtag7Function;

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
  packet.sip = Ipv4(0x0A010203);
  packet.dip = Ipv4(0x0A040506);
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
  packet.sip = Ipv4(0x33343536);  // "3456"
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

}  // namespace
}  // namespace yardmaster::repac
