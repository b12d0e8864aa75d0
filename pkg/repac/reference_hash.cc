#include "pkg/repac/reference_hash.h"

#include <algorithm>

#include "pkg/repac/checksums.h"
#include "pkg/repac/linux_hash.h"
#include "pkg/repac/rtag7_hash.h"

namespace yardmaster::repac {

namespace {

using fabric::Bmv2Calculation;
using fabric::HashField;
using fabric::HashKind;
using fabric::HashSpec;
using fabric::SaiAlgorithm;

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
  if (spec.kind == HashKind::kUnpredictable) {
    return spec.reason.empty() ? "no reason is given" : spec.reason;
  }
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
  const bool equal_ports = has_ports && packet.sport == packet.dport;
  if (!has_ports && !spec.rtag7.other_fields.empty()) out.fields = spec.rtag7.other_fields;
  if (equal_ports && !spec.rtag7.equal_port_fields.empty()) {
    out.fields = spec.rtag7.equal_port_fields;
  }
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
