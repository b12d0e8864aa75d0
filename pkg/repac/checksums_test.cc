#include "pkg/repac/checksums.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/repac/packet.h"

namespace yardmaster::repac {
namespace {

Bytes Ascii(std::string_view text) { return Bytes(text.begin(), text.end()); }
Bytes Digits() { return Ascii("123456789"); }

struct KnownCrc {
  const char* name;
  fabric::CrcParameters crc;
  std::uint64_t check;
};

// The check values of the public catalogues of CRCs.
const std::vector<KnownCrc>& KnownCrcs() {
  static const std::vector<KnownCrc> known = {
      {"CRC-3/GSM", {3, 0x3, 0, false, false, 0x7}, 0x4},
      {"CRC-5/USB", {5, 0x05, 0x1f, true, true, 0x1f}, 0x19},
      {"CRC-8/SMBUS", {8, 0x07, 0, false, false, 0}, 0xf4},
      {"CRC-8/MAXIM-DOW", {8, 0x31, 0, true, true, 0}, 0xa1},
      {"CRC-16/ARC", {16, 0x8005, 0, true, true, 0}, 0xbb3d},
      {"CRC-16/MODBUS", {16, 0x8005, 0xffff, true, true, 0}, 0x4b37},
      {"CRC-16/IBM-3740", {16, 0x1021, 0xffff, false, false, 0}, 0x29b1},
      {"CRC-16/XMODEM", {16, 0x1021, 0, false, false, 0}, 0x31c3},
      {"CRC-16/KERMIT", {16, 0x1021, 0, true, true, 0}, 0x2189},
      {"CRC-16/DNP", {16, 0x3d65, 0, true, true, 0xffff}, 0xea82},
      {"CRC-24/OPENPGP", {24, 0x864cfb, 0xb704ce, false, false, 0}, 0x21cf02},
      {"CRC-32/ISO-HDLC", {32, 0x04c11db7, 0xffffffff, true, true, 0xffffffff}, 0xcbf43926},
      {"CRC-32/ISCSI", {32, 0x1edc6f41, 0xffffffff, true, true, 0xffffffff}, 0xe3069283},
      {"CRC-32/BZIP2", {32, 0x04c11db7, 0xffffffff, false, false, 0xffffffff}, 0xfc891918},
      {"CRC-32/MPEG-2", {32, 0x04c11db7, 0xffffffff, false, false, 0}, 0x0376e6e7},
      {"CRC-64/ECMA-182", {64, 0x42f0e1eba9ea3693, 0, false, false, 0}, 0x6c40df5f0b497347},
      {"CRC-64/XZ", {64, 0x42f0e1eba9ea3693, ~0ULL, true, true, ~0ULL}, 0x995dc9bbdf1939fa},
  };
  return known;
}

TEST(CrcTest, GivesTheCheckValuesOfTheCatalogues) {
  for (const KnownCrc& known : KnownCrcs()) {
    EXPECT_EQ(Crc(known.crc, Digits()), known.check) << known.name;
  }
}

TEST(CrcTest, GivesTheCheckValuesOfRtag7) {
  EXPECT_EQ(Crc(Rtag7Crc(16, 0x8005), Digits()), 0xbcddu);
  EXPECT_EQ(Crc(Rtag7Crc(16, 0x1021), Digits()), 0x9184u);
  EXPECT_EQ(Crc(Rtag7Crc(32, 0x1EDC6F41), Digits()), 0x45fc71au);
  EXPECT_EQ(Crc(Rtag7Crc(32, 0x04C11DB7), Digits()), 0x11b4bfb4u);
  EXPECT_EQ(Crc(Rtag7Crc(32, 0x741B8CD7), Digits()), 0xac1f3aa5u);
}

// Long division of polynomials over a written-out string of bits: shares nothing with Crc().
std::uint64_t ByLongDivision(const fabric::CrcParameters& crc, const Bytes& data) {
  const auto width = static_cast<std::size_t>(crc.width);
  std::vector<int> bits;
  for (std::uint8_t byte : data) {
    std::vector<int> of_byte;
    for (int i = 7; i >= 0; --i) of_byte.push_back(byte >> i & 1);
    if (crc.reflect_in) std::reverse(of_byte.begin(), of_byte.end());
    bits.insert(bits.end(), of_byte.begin(), of_byte.end());
  }
  bits.insert(bits.end(), width, 0);
  // An initial remainder is the same as adding it to the first bits of the message.
  for (std::size_t i = 0; i < width; ++i)
    bits[i] ^= static_cast<int>(crc.init >> (width - 1 - i) & 1);
  for (std::size_t at = 0; at + width < bits.size(); ++at) {
    if (bits[at] == 0) continue;
    bits[at] = 0;
    for (std::size_t i = 0; i < width; ++i) {
      bits[at + 1 + i] ^= static_cast<int>(crc.polynomial >> (width - 1 - i) & 1);
    }
  }
  std::vector<int> rest(bits.end() - static_cast<std::ptrdiff_t>(width), bits.end());
  if (crc.reflect_out) std::reverse(rest.begin(), rest.end());
  std::uint64_t value = 0;
  for (int bit : rest) value = value << 1 | static_cast<std::uint64_t>(bit);
  return value ^ crc.xor_out;
}

TEST(CrcTest, AgreesWithLongDivisionForRandomParameters) {
  Random random(2);
  for (int round = 0; round < 500; ++round) {
    const int width = 1 + static_cast<int>(random.Below(64));
    const std::uint64_t mask = width == 64 ? ~0ULL : (1ULL << width) - 1;
    const fabric::CrcParameters crc = {width,
                                       random.Next() & mask,
                                       random.Next() & mask,
                                       random.Below(2) == 1,
                                       random.Below(2) == 1,
                                       random.Next() & mask};
    Bytes data(9 + random.Below(30));
    for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(random.Below(256));
    EXPECT_EQ(Crc(crc, data), ByLongDivision(crc, data)) << "width " << width;
  }
}

struct RssVector {
  const char* destination;
  std::uint16_t dport;
  const char* source;
  std::uint16_t sport;
  std::uint32_t addresses;
  std::uint32_t with_ports;
};

// The verification suite that Microsoft publishes for receive side scaling.
constexpr std::array<RssVector, 8> kRssVectors = {{
    {"161.142.100.80", 1766, "66.9.149.187", 2794, 0x323e8fc2, 0x51ccc178},
    {"65.69.140.83", 4739, "199.92.111.2", 14230, 0xd718262a, 0xc626b0ea},
    {"12.22.207.184", 38024, "24.19.198.95", 12898, 0xd2d0a5de, 0x5c2b394a},
    {"209.142.163.6", 2217, "38.27.205.30", 48228, 0x82989176, 0xafc7327f},
    {"202.188.127.2", 1303, "153.39.163.191", 44251, 0x5d1809c5, 0x10e828a2},
    {"3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2cc18cd5, 0x40207d3d},
    {"ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0f0c461c, 0xdde51bbf},
    {"fe80::200:f8ff:fe21:67cf", 38024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, 0x4b61e985,
     0x02d1feef},
}};

TEST(ToeplitzTest, GivesTheValuesOfTheRssVerificationSuite) {
  for (const RssVector& v : kRssVectors) {
    const auto source = IpAddress::Parse(v.source);
    const auto destination = IpAddress::Parse(v.destination);
    ASSERT_TRUE(source.ok() && destination.ok());
    Bytes data(source->bytes.begin(), source->bytes.begin() + static_cast<long>(source->size()));
    data.insert(data.end(), destination->bytes.begin(),
                destination->bytes.begin() + static_cast<long>(destination->size()));
    EXPECT_EQ(Toeplitz(RssVerificationKey(), data), v.addresses) << v.source;
    for (std::uint16_t port : {v.sport, v.dport}) {
      data.push_back(static_cast<std::uint8_t>(port >> 8));
      data.push_back(static_cast<std::uint8_t>(port & 0xFF));
    }
    EXPECT_EQ(Toeplitz(RssVerificationKey(), data), v.with_ports) << v.source;
  }
}

TEST(XorTest, FoldsBigEndianWordsAndPadsTheTail) {
  EXPECT_EQ(Xor16({0x12, 0x34, 0xab, 0xcd}), 0x1234 ^ 0xabcd);
  EXPECT_EQ(Xor16({0x12, 0x34, 0xab}), 0x1234 ^ 0xab00);
  EXPECT_EQ(Xor32({0x12, 0x34, 0xab, 0xcd, 0xef}), 0x1234abcdu ^ 0xef000000u);
  EXPECT_EQ(Xor16({}), 0);
}

TEST(Csum16Test, IsTheInternetChecksum) {
  // The worked example of RFC 1071 sums to ddf2.
  EXPECT_EQ(Csum16({0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}), 0xffff ^ 0xddf2);
  // A header with its checksum in place sums to nothing.
  EXPECT_EQ(Csum16({0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                    0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7}),
            0);
}

TEST(XxHash64Test, GivesThePublishedValues) {
  EXPECT_EQ(XxHash64({}, 0), 0xEF46DB3751D8E999ULL);
  EXPECT_EQ(XxHash64(Ascii("a"), 0), 0xD24EC4F1A98C6E5BULL);
  EXPECT_EQ(XxHash64(Ascii("abc"), 0), 0x44BC2CF5AD770999ULL);
  EXPECT_EQ(XxHash64(Ascii("Nobody inspects the spammish repetition"), 0), 0xFBCEA83C8A378BF1ULL);
}

TEST(IdentityTest, IsTheFirstEightBytes) {
  EXPECT_EQ(Identity({1, 2}), 0x0102u);
  EXPECT_EQ(Identity({1, 2, 3, 4, 5, 6, 7, 8, 9}), 0x0102030405060708u);
}

}  // namespace
}  // namespace yardmaster::repac
