#include "pkg/repac/reference_hash.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include "pkg/repac/checksums.h"

namespace yardmaster::repac {

namespace {

using fabric::Bmv2Calculation;
using fabric::HashField;
using fabric::HashKind;
using fabric::HashSpec;
using fabric::Rtag7Function;
using fabric::SaiAlgorithm;

constexpr std::uint64_t kBisync = 0x8005;
constexpr std::uint64_t kCcitt = 0x1021;
constexpr std::uint64_t kEthernet = 0x04C11DB7;
constexpr std::uint64_t kCastagnoli = 0x1EDC6F41;
constexpr std::uint64_t kKoopman = 0x741B8CD7;
constexpr std::uint8_t kProtocolTcp = 6;

void Append16(Bytes& key, std::uint16_t value) {
  key.push_back(static_cast<std::uint8_t>(value >> 8));
  key.push_back(static_cast<std::uint8_t>(value & 0xFF));
}

void AppendAddress(Bytes& key, const IpAddress& address) {
  key.insert(key.end(), address.bytes.begin(),
             address.bytes.begin() + static_cast<std::ptrdiff_t>(address.size()));
}

Bytes KeyBytes(const HashSpec& spec, const Packet& packet) {
  Bytes key;
  key.reserve(48);
  for (HashField field : spec.fields) {
    switch (field) {
      case HashField::kSip:
        AppendAddress(key, packet.sip);
        break;
      case HashField::kDip:
        AppendAddress(key, packet.dip);
        break;
      case HashField::kProtocol:
        key.push_back(packet.protocol);
        break;
      case HashField::kSport:
        Append16(key, packet.sport);
        break;
      case HashField::kDport:
        Append16(key, packet.dport);
        break;
      case HashField::kIngressPort:
        Append16(key, packet.ingress_port);
        break;
      case HashField::kVlan:
        Append16(key, spec.vlan);
        break;
      case HashField::kSourceModule:
        key.push_back(spec.source_module);
        break;
      case HashField::kDestQp:
        break;  // WhyUnpredictable() has refused it
    }
  }
  return key;
}

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

std::uint16_t FoldTo(std::uint32_t value, int bits) {
  for (int width = 16; width > bits; width /= 2) {
    value = (value ^ value >> (width / 2)) & ((1u << (width / 2)) - 1);
  }
  return static_cast<std::uint16_t>(value);
}

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

std::uint64_t SeededCrc(fabric::CrcParameters crc, std::uint32_t seed, const Bytes& key) {
  crc.init ^= seed;
  return Crc(crc, key);
}

std::uint64_t SaiValue(const HashSpec& spec, const Bytes& key) {
  const std::uint64_t xored = Xor16(key) ^ (spec.seed & 0xFFFF);
  switch (spec.sai) {
    case SaiAlgorithm::kCrc:
      return SeededCrc(Crc16Arc(), spec.seed, key);
    case SaiAlgorithm::kXor:
      return xored;
    case SaiAlgorithm::kCrc32Lo:
      return SeededCrc(Crc32Ethernet(), spec.seed, key) & 0xFFFF;
    case SaiAlgorithm::kCrc32Hi:
      return SeededCrc(Crc32Ethernet(), spec.seed, key) >> 16;
    case SaiAlgorithm::kCrcCcitt:
      return SeededCrc(Crc16CcittFalse(), spec.seed, key);
    case SaiAlgorithm::kCrcXor:
      return (SeededCrc(Crc16Arc(), spec.seed, key) & 0xFF00) | FoldTo(xored & 0xFFFF, 8);
    default:
      return 0;
  }
}

const Bytes& ToeplitzKey(const HashSpec& spec) {
  return spec.toeplitz_key.empty() ? RssVerificationKey() : spec.toeplitz_key;
}

std::uint64_t Bmv2Value(const HashSpec& spec, const Bytes& key) {
  switch (spec.bmv2) {
    case Bmv2Calculation::kCrc16:
      return SeededCrc(Crc16Arc(), spec.seed, key);
    case Bmv2Calculation::kCrcCcitt:
      return SeededCrc(Crc16CcittFalse(), spec.seed, key);
    case Bmv2Calculation::kCrc32:
      return SeededCrc(Crc32Ethernet(), spec.seed, key);
    case Bmv2Calculation::kXor16:
      return Xor16(key) ^ (spec.seed & 0xFFFF);
    case Bmv2Calculation::kXor32:
      return Xor32(key) ^ spec.seed;
    case Bmv2Calculation::kToeplitz:
      return Toeplitz(ToeplitzKey(spec), key) ^ spec.seed;
    case Bmv2Calculation::kIdentity:
      return Identity(key) ^ spec.seed;
    case Bmv2Calculation::kCsum16:
      return Csum16(key) ^ (spec.seed & 0xFFFF);
    case Bmv2Calculation::kXxh64:
      return XxHash64(key, spec.seed);
    default:
      return 0;
  }
}

bool HasPorts(std::uint8_t protocol) {
  constexpr std::uint8_t kWithPorts[] = {kProtocolTcp, kProtocolUdp, 33, 132,
                                         136};  // DCCP, SCTP, UDP-Lite
  return std::find(std::begin(kWithPorts), std::end(kWithPorts), protocol) != std::end(kWithPorts);
}

std::uint16_t SwapBytes(std::uint16_t value) {
  return static_cast<std::uint16_t>(value << 8 | value >> 8);
}

// Whether `a` comes before `b` in the kernel's order of addresses.
bool AddressBefore(const IpAddress& a, const IpAddress& b) {
  const auto begin = [](const IpAddress& x) { return x.bytes.begin(); };
  const auto end = [](const IpAddress& x) {
    return x.bytes.begin() + static_cast<std::ptrdiff_t>(x.size());
  };
  if (a.v6) return std::lexicographical_compare(begin(a), end(a), begin(b), end(b));
  for (std::size_t i = 4; i-- > 0;) {
    if (a.bytes[i] != b.bytes[i]) return a.bytes[i] < b.bytes[i];
  }
  return false;
}

std::uint64_t LinuxValue(const HashSpec& spec, const Packet& packet) {
  constexpr std::size_t kProtocolAt = 2;
  constexpr std::size_t kPortsAt = 28;
  constexpr std::size_t kAddressesAt = 36;
  std::array<std::uint8_t, 72> key{};
  key[kProtocolAt] = packet.protocol;
  if (HasPorts(packet.protocol)) {
    std::uint16_t first = packet.sport;
    std::uint16_t second = packet.dport;
    if (SwapBytes(second) < SwapBytes(first)) std::swap(first, second);
    key[kPortsAt] = static_cast<std::uint8_t>(first >> 8);
    key[kPortsAt + 1] = static_cast<std::uint8_t>(first & 0xFF);
    key[kPortsAt + 2] = static_cast<std::uint8_t>(second >> 8);
    key[kPortsAt + 3] = static_cast<std::uint8_t>(second & 0xFF);
  }
  const bool swap = AddressBefore(packet.dip, packet.sip);
  const IpAddress& low = swap ? packet.dip : packet.sip;
  const IpAddress& high = swap ? packet.sip : packet.dip;
  const std::size_t width = low.size();
  std::copy_n(low.bytes.begin(), width, key.begin() + kAddressesAt);
  std::copy_n(high.bytes.begin(), width,
              key.begin() + static_cast<std::ptrdiff_t>(kAddressesAt + width));
  const std::size_t size = (kAddressesAt + 2 * width + 7) / 8 * 8;
  const std::uint64_t half = std::uint64_t{spec.seed} << 32 | spec.seed;
  const auto hash =
      static_cast<std::uint32_t>(SipHash24(std::span(key.data(), size), half, half) & 0xFFFFFFFF);
  return (hash == 0 ? 1 : hash) >> 1;
}

std::uint64_t FunctionValue(const HashSpec& spec, const Packet& packet) {
  switch (spec.kind) {
    case HashKind::kCrc:
      return SeededCrc(spec.crc, spec.seed, KeyBytes(spec, packet));
    case HashKind::kRtag7:
      return Rtag7Value(spec, packet);
    case HashKind::kSai:
      return SaiValue(spec, KeyBytes(spec, packet));
    case HashKind::kXor16:
      return Xor16(KeyBytes(spec, packet)) ^ (spec.seed & 0xFFFF);
    case HashKind::kToeplitz:
      return Toeplitz(ToeplitzKey(spec), KeyBytes(spec, packet)) ^ spec.seed;
    case HashKind::kBmv2:
      return Bmv2Value(spec, KeyBytes(spec, packet));
    case HashKind::kLinux:
      return LinuxValue(spec, packet);
    case HashKind::kUnpredictable:
      break;
  }
  return 0;
}

std::uint64_t LowBits(std::uint64_t value, int bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

std::uint64_t RotateRight(std::uint64_t value, int by, int width) {
  if (by == 0) return value;
  return LowBits(value >> by | value << (width - by), width);
}

bool Names(const std::vector<HashField>& fields, HashField field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

bool NamesAnywhere(const HashSpec& spec, HashField field) {
  return Names(spec.fields, field) || Names(spec.rtag7.other_fields, field) ||
         Names(spec.rtag7.equal_port_fields, field) ||
         std::any_of(spec.ingress_ports.begin(), spec.ingress_ports.end(),
                     [field](const auto& entry) { return Names(entry.fields, field); });
}

std::optional<std::string> WhySaiUnpredictable(SaiAlgorithm algorithm) {
  switch (algorithm) {
    case SaiAlgorithm::kRandom:
      return "per-packet random";
    case SaiAlgorithm::kRoundRobin:
      return "per-packet round robin";
    case SaiAlgorithm::kJenkinsLo:
    case SaiAlgorithm::kJenkinsHi:
      return "the vendor's Jenkins hash is not public";
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> WhyUnpredictable(const HashSpec& spec) {
  if (spec.kind == HashKind::kUnpredictable) return spec.reason;
  if (spec.group.adaptive_routing) return "adaptive routing";
  if (NamesAnywhere(spec, HashField::kDestQp)) {
    return "the destination queue pair is hashed and known only after connecting";
  }
  if (spec.kind == HashKind::kRtag7 && spec.rtag7.flow_select) {
    return "the sub-field is selected per flow";
  }
  if (spec.kind == HashKind::kSai) return WhySaiUnpredictable(spec.sai);
  if (spec.kind == HashKind::kBmv2 && spec.bmv2 == Bmv2Calculation::kRoundRobin) {
    return "per-packet round robin";
  }
  if (spec.kind == HashKind::kBmv2 && spec.bmv2 == Bmv2Calculation::kRoundRobinConsistent) {
    return "round robin in the order in which flows arrive";
  }
  return std::nullopt;
}

bool IsAffine(const HashSpec& spec) {
  if (spec.kind == HashKind::kLinux) return false;
  return !(spec.kind == HashKind::kBmv2 &&
           (spec.bmv2 == Bmv2Calculation::kCsum16 || spec.bmv2 == Bmv2Calculation::kXxh64));
}

int KeptBits(const HashSpec& spec) {
  const bool all = spec.kind == HashKind::kToeplitz || spec.kind == HashKind::kBmv2 ||
                   spec.kind == HashKind::kLinux;
  const int width = fabric::ValueWidth(spec);
  return std::min(spec.keep_bits.value_or(all ? width : 16), width);
}

HashSpec SpecFor(const HashSpec& spec, const Packet& packet) {
  HashSpec out = spec;
  out.ingress_ports.clear();
  out.rtag7.other_fields.clear();
  out.rtag7.equal_port_fields.clear();
  if (spec.kind != HashKind::kRtag7) return out;
  const bool has_ports = packet.protocol == kProtocolUdp || packet.protocol == kProtocolTcp;
  const std::vector<HashField>& of_class = !has_ports ? spec.rtag7.other_fields
                                           : (packet.sport == packet.dport)
                                               ? spec.rtag7.equal_port_fields
                                               : spec.fields;
  if (!of_class.empty()) out.fields = of_class;
  for (const fabric::IngressPortHash& entry : spec.ingress_ports) {
    if (packet.ingress_port < entry.first || packet.ingress_port > entry.last) continue;
    if (entry.function) out.rtag7.function = *entry.function;
    if (entry.pre_mix) out.rtag7.pre_mix = *entry.pre_mix;
    if (entry.seed) out.seed = *entry.seed;
    if (entry.rotate_right) out.rotate_right = *entry.rotate_right;
    if (!entry.fields.empty()) out.fields = entry.fields;
  }
  return out;
}

std::uint64_t ReferenceHash(const HashSpec& spec, const Packet& packet) {
  const std::uint64_t value = FunctionValue(spec, packet);
  return LowBits(RotateRight(value, spec.rotate_right, fabric::ValueWidth(spec)), KeptBits(spec));
}

}  // namespace yardmaster::repac
