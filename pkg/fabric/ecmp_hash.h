// How the switches of one role choose a member of an ECMP group: the `ecmpHash` block of a Fabric
// as plain data. pkg/repac turns it into something that can be evaluated.
//
// A hash is a key (packet fields), a function of it, a rotation and a mask; a group rule then turns
// the value into a member. Only what decides the answer is here; how a switch is configured to do
// so is the platform's business.
//
// Thread safety: values. Problems() must have been empty before a spec is compiled.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace yardmaster::fabric {

// kLinux is the Linux kernel's: SipHash-2-4 of the five-tuple with addresses and ports in order,
// and members by hash threshold (RFC 2992) instead of modulo.
enum class HashKind { kCrc, kRtag7, kSai, kXor16, kToeplitz, kBmv2, kLinux, kUnpredictable };

// What the key is made of. `kDestQp` (the RoCE destination queue pair) is known only after a
// connection exists, so a hash over it cannot be predicted.
enum class HashField {
  kSip,
  kDip,
  kProtocol,
  kSport,
  kDport,
  kIngressPort,
  kVlan,
  kSourceModule,
  kDestQp
};

// Rocksoft parameters. `init` and `xor_out` are given unreflected, as that convention has it.
struct CrcParameters {
  int width = 32;  // 1..64
  std::uint64_t polynomial = 0x04C11DB7;
  std::uint64_t init = 0xFFFFFFFF;
  bool reflect_in = true;
  bool reflect_out = true;
  std::uint64_t xor_out = 0xFFFFFFFF;
  bool operator==(const CrcParameters&) const = default;
};

// The outputs an RTAG7 block can compute; *Lo and *Hi are halves of a 32-bit CRC, kCrc16XorN is the
// upper byte of CRC16-BISYNC with the key's XOR folded to N bits below it.
enum class Rtag7Function {
  kCrc16Bisync,
  kCrc16Ccitt,
  kCrc32cLo,
  kCrc32cHi,
  kCrc32Lo,
  kCrc32Hi,
  kCrc32KoopmanLo,
  kCrc32KoopmanHi,
  kXor16,
  kCrc16Xor1,
  kCrc16Xor2,
  kCrc16Xor4,
  kCrc16Xor8
};
enum class Ipv6Fold { kXor, kLowWord };

struct Rtag7Parameters {
  Rtag7Function function = Rtag7Function::kCrc32cLo;
  bool pre_mix = false;
  Ipv6Fold ipv6_fold = Ipv6Fold::kXor;
  // Fields of packets that are neither TCP nor UDP, and of those whose two ports are equal; empty:
  // as HashSpec::fields.
  std::vector<HashField> other_fields;
  std::vector<HashField> equal_port_fields;
  // The switch picks the sub-field by a byte of the packet's own hash: not predictable here.
  bool flow_select = false;
  bool operator==(const Rtag7Parameters&) const = default;
};

enum class SaiAlgorithm {
  kCrc,
  kXor,
  kRandom,
  kCrc32Lo,
  kCrc32Hi,
  kCrcCcitt,
  kCrcXor,
  kNone,
  kRoundRobin,
  kJenkinsLo,
  kJenkinsHi
};

enum class Bmv2Calculation {
  kCrc16,
  kCrcCcitt,
  kCrc32,
  kXor16,
  kXor32,
  kToeplitz,
  kIdentity,
  kCsum16,
  kXxh64,
  kRoundRobin,
  kRoundRobinConsistent
};

// The hash of packets that came in through ports [first, last] (Tomahawk's table by ingress port).
// An absent value is that of the HashSpec.
struct IngressPortHash {
  int first = 0;
  int last = 0;
  std::optional<Rtag7Function> function;
  std::optional<bool> pre_mix;
  std::optional<std::uint32_t> seed;
  std::optional<int> rotate_right;
  std::vector<HashField> fields;  // empty: as HashSpec::fields
  bool operator==(const IngressPortHash&) const = default;
};

// From a hash value to a member.
struct GroupRule {
  // False: the switch orders members as it likes, so an index names no port.
  bool ordered = true;
  // Adaptive routing, packet spraying or dynamic load balancing: nothing may be predicted.
  bool adaptive_routing = false;
  // Copies of each member in its group, in order; empty: one each. Groups of another size ignore
  // it. kLinux: shares of the range of values.
  std::vector<int> weights;
  // Resilient hashing: the value picks one of that many buckets, the table a member. Empty table:
  // bucket b holds member b mod members while all are up; after a loss only a reported table is
  // trusted.
  int resilient_buckets = 0;
  std::vector<int> resilient_table;
  // A packet that came in on port i leaves through member i mod members, for any header; if that
  // member is down, the hash decides among the others.
  bool preset_by_ingress_port = false;
  bool operator==(const GroupRule&) const = default;
};

struct HashSpec {
  HashKind kind = HashKind::kUnpredictable;
  std::string reason = "no hash is described";  // kUnpredictable only
  std::vector<HashField> fields = {HashField::kSip, HashField::kDip, HashField::kProtocol,
                                   HashField::kSport, HashField::kDport};
  CrcParameters crc;
  Rtag7Parameters rtag7;
  SaiAlgorithm sai = SaiAlgorithm::kCrc;
  Bmv2Calculation bmv2 = Bmv2Calculation::kCrc32;
  std::vector<std::uint8_t> toeplitz_key;  // empty: the key of Microsoft's RSS verification suite
  std::uint32_t seed = 0;
  int rotate_right = 0;            // within the width of the function's value
  std::optional<int> keep_bits;    // low bits kept; default 16, toeplitz, bmv2 and linux: all
  std::uint16_t vlan = 0;          // what kVlan holds
  std::uint8_t source_module = 0;  // what kSourceModule holds
  std::vector<IngressPortHash> ingress_ports;
  GroupRule group;
  // Parallel links to one neighbour form a LAG with a hash of its own: the group is one of
  // neighbours.
  std::shared_ptr<const HashSpec> lag;
};

// Bits of the function's value before `keep_bits`.
int ValueWidth(const HashSpec& spec);

// Everything that is wrong, each as "<field>.crc.width: ...; ...". Empty: valid.
std::vector<std::string> Problems(const HashSpec& spec, const std::string& field);

}  // namespace yardmaster::fabric
