#include "pkg/repac/linux_hash.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include "pkg/repac/checksums.h"

namespace yardmaster::repac {

namespace {

using fabric::HashSpec;

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

}  // namespace

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

}  // namespace yardmaster::repac
