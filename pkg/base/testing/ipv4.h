// IPv4 addresses from numbers. Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pkg/base/ip_address.h"

namespace yardmaster {

inline IpAddress Ipv4(std::uint32_t host_order) {
  IpAddress address;
  for (std::size_t i = 0; i < 4; ++i) {
    address.bytes[i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
  }
  return address;
}

}  // namespace yardmaster
