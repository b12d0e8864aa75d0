#include "pkg/repac/rtag7_hash.h"

#include <array>

#include "pkg/repac/checksums.h"

namespace yardmaster::repac {

namespace {

using fabric::HashField;
using fabric::HashSpec;
using fabric::Rtag7Function;

constexpr std::uint64_t kBisync = 0x8005;
constexpr std::uint64_t kCcitt = 0x1021;
constexpr std::uint64_t kEthernet = 0x04C11DB7;
constexpr std::uint64_t kCastagnoli = 0x1EDC6F41;
constexpr std::uint64_t kKoopman = 0x741B8CD7;

std::uint32_t Word(const IpAddress& address, std::size_t at) {
  return std::uint32_t{address.bytes[at]} << 24 | std::uint32_t{address.bytes[at + 1]} << 16 |
         std::uint32_t{address.bytes[at + 2]} << 8 | address.bytes[at + 3];
}

std::uint32_t Fold(const IpAddress& address, fabric::Ipv6Fold fold) {
  if (!address.v6) return Word(address, 0);
  if (fold == fabric::Ipv6Fold::kLowWord) return Word(address, 12);
  return Word(address, 0) ^ Word(address, 4) ^ Word(address, 8) ^ Word(address, 12);
}

using Bins = std::array<std::uint16_t, 12>;

Bins FillBins(const HashSpec& spec, const Packet& packet) {
  Bins bins{};
  const auto put_address = [&](std::size_t low, const IpAddress& address) {
    const std::uint32_t folded = Fold(address, spec.rtag7.ipv6_fold);
    bins[low + 1] = static_cast<std::uint16_t>(folded >> 16);
    bins[low] = static_cast<std::uint16_t>(folded & 0xFFFF);
  };
  for (HashField field : spec.fields) {
    switch (field) {
      case HashField::kSip:
        put_address(10, packet.sip);
        break;
      case HashField::kDip:
        put_address(8, packet.dip);
        break;
      case HashField::kVlan:
        bins[7] = spec.vlan;
        break;
      case HashField::kSport:
        bins[6] = packet.sport;
        break;
      case HashField::kDport:
        bins[5] = packet.dport;
        break;
      case HashField::kProtocol:
        bins[4] = packet.protocol;
        break;
      case HashField::kIngressPort:
        bins[3] = packet.ingress_port;
        break;
      case HashField::kSourceModule:
        bins[2] = spec.source_module;
        break;
      case HashField::kDestQp:
        break;  // WhyUnpredictable() has refused it
    }
  }
  return bins;
}

// 28 bytes: six words of two bins and the seed, all little-endian. In bytes that is simply bin
// after bin, low byte first.
Bytes Rtag7Key(const HashSpec& spec, const Packet& packet) {
  Bytes key;
  key.reserve(28);
  for (std::uint32_t bin : FillBins(spec, packet)) {
    // Zero mixes to zero, so mixing before or after the mask is the same.
    if (spec.rtag7.pre_mix) bin = (bin ^ bin >> 3 ^ bin << 2) & 0xFFFF;
    key.push_back(static_cast<std::uint8_t>(bin & 0xFF));
    key.push_back(static_cast<std::uint8_t>(bin >> 8));
  }
  for (int shift = 0; shift < 32; shift += 8) {
    key.push_back(static_cast<std::uint8_t>(spec.seed >> shift & 0xFF));
  }
  return key;
}

// XOR of all 16-bit words; which end comes first matters for the value, so not Xor16().
std::uint16_t Rtag7Xor16(const Bytes& key) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < key.size(); i += 2) {
    value ^= std::uint32_t{key[i]} | std::uint32_t{key[i + 1]} << 8;
  }
  return static_cast<std::uint16_t>(value);
}

}  // namespace

std::uint64_t Rtag7Value(const HashSpec& spec, const Packet& packet) {
  const Bytes key = Rtag7Key(spec, packet);
  const auto crc = [&key](int width, std::uint64_t poly) {
    return Crc(Rtag7Crc(width, poly), key);
  };
  const auto crc_xor = [&](int bits) {
    return (crc(16, kBisync) & 0xFF00) | FoldTo(Rtag7Xor16(key), bits);
  };
  switch (spec.rtag7.function) {
    case Rtag7Function::kCrc16Bisync:
      return crc(16, kBisync);
    case Rtag7Function::kCrc16Ccitt:
      return crc(16, kCcitt);
    case Rtag7Function::kCrc32cLo:
      return crc(32, kCastagnoli) & 0xFFFF;
    case Rtag7Function::kCrc32cHi:
      return crc(32, kCastagnoli) >> 16;
    case Rtag7Function::kCrc32Lo:
      return crc(32, kEthernet) & 0xFFFF;
    case Rtag7Function::kCrc32Hi:
      return crc(32, kEthernet) >> 16;
    case Rtag7Function::kCrc32KoopmanLo:
      return crc(32, kKoopman) & 0xFFFF;
    case Rtag7Function::kCrc32KoopmanHi:
      return crc(32, kKoopman) >> 16;
    case Rtag7Function::kXor16:
      return Rtag7Xor16(key);
    case Rtag7Function::kCrc16Xor1:
      return crc_xor(1);
    case Rtag7Function::kCrc16Xor2:
      return crc_xor(2);
    case Rtag7Function::kCrc16Xor4:
      return crc_xor(4);
    case Rtag7Function::kCrc16Xor8:
      return crc_xor(8);
  }
  return 0;
}

}  // namespace yardmaster::repac
