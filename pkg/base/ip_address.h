// IPv4 and IPv6 addresses and their text forms. Thread safety: values and pure functions.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yardmaster {

// IPv4 in the first four bytes, or IPv6; network byte order.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  bool v6 = false;

  // "10.0.0.1" or "2001:db8::1" (with an embedded IPv4 tail, too). Errors: InvalidArgument.
  static absl::StatusOr<IpAddress> Parse(std::string_view text);
  std::string ToString() const;
  // The bytes of the address: 4 or 16.
  std::size_t size() const { return v6 ? 16 : 4; }
  // The address `count` after this one; after the last address follows the first.
  IpAddress Plus(std::uint32_t count) const;
  auto operator<=>(const IpAddress&) const = default;
};

}  // namespace yardmaster
