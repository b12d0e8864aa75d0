// The part of a packet that switches hash, and the text forms of its addresses.
// Thread safety: values and pure functions.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yardmaster::repac {

inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::uint16_t kRoceDestinationPort = 4791;
// RoCEv2 source ports are 0xC000 to 0xFFFF. A flow label of 0 means "not set" to the verbs library,
// so 0xC000 itself cannot be asked for.
inline constexpr std::uint16_t kFirstSourcePort = 0xC001;
inline constexpr std::uint16_t kSourcePortBase = 0xC000;
inline constexpr int kSourcePortBits = 14;

// IPv4 in the first four bytes, or IPv6; network byte order.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  bool v6 = false;

  static IpAddress V4(std::uint32_t host_order);
  // "10.0.0.1" or "2001:db8::1" (with an embedded IPv4 tail, too). Errors: InvalidArgument.
  static absl::StatusOr<IpAddress> Parse(std::string_view text);
  std::string ToString() const;
  // The bytes of the address: 4 or 16.
  std::size_t size() const { return v6 ? 16 : 4; }
  auto operator<=>(const IpAddress&) const = default;
};

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
