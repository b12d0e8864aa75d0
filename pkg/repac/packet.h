// Packet has the parts of a packet that switches hash.
//
// Thread safety: values.
#pragma once

#include <cstdint>

#include "pkg/base/ip_address.h"

namespace yardmaster::repac {

using yardmaster::IpAddress;

inline constexpr std::uint8_t kProtocolTcp = 6;
inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::uint16_t kRoceDestinationPort = 4791;
// RoCEv2 source ports are 0xC000 to 0xFFFF. The verbs library treats a flow label of 0 as "not
// set", so port 0xC000 cannot be requested.
inline constexpr std::uint16_t kFirstSourcePort = 0xC001;
inline constexpr std::uint16_t kSourcePortBase = 0xC000;
inline constexpr int kSourcePortBits = 14;

// Both addresses are IPv4, or both are IPv6.
struct Packet {
  IpAddress sip;
  IpAddress dip;
  std::uint8_t protocol = kProtocolUdp;
  std::uint16_t sport = 0;
  std::uint16_t dport = kRoceDestinationPort;
  // The port by which the packet entered the switch; for switches that hash it, it differs at each
  // hop.
  std::uint16_t ingress_port = 0;
  bool operator==(const Packet&) const = default;
};

}  // namespace yardmaster::repac
