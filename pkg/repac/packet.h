// The part of a packet that switches hash. Thread safety: values.
#pragma once

#include <cstdint>

#include "pkg/base/ip_address.h"

namespace yardmaster::repac {

using yardmaster::IpAddress;

inline constexpr std::uint8_t kProtocolTcp = 6;
inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::uint16_t kRoceDestinationPort = 4791;
// RoCEv2 source ports are 0xC000 to 0xFFFF. A flow label of 0 means "not set" to the verbs library,
// so 0xC000 itself cannot be asked for.
inline constexpr std::uint16_t kFirstSourcePort = 0xC001;
inline constexpr std::uint16_t kSourcePortBase = 0xC000;
inline constexpr int kSourcePortBits = 14;

// Addresses of one packet are both IPv4 or both IPv6.
struct Packet {
  IpAddress sip;
  IpAddress dip;
  std::uint8_t protocol = kProtocolUdp;
  std::uint16_t sport = 0;
  std::uint16_t dport = kRoceDestinationPort;
  // The port it came into the switch by; switches that hash it differ hop by hop.
  std::uint16_t ingress_port = 0;
  bool operator==(const Packet&) const = default;
};

}  // namespace yardmaster::repac
