#include "pkg/base/ip_address.h"

#include <arpa/inet.h>

#include "pkg/base/strings.h"

namespace yardmaster {

absl::StatusOr<IpAddress> IpAddress::Parse(std::string_view text) {
  IpAddress address;
  address.v6 = text.find(':') != std::string_view::npos;
  // A zero byte would end the text for inet_pton.
  const bool whole = text.find('\0') == std::string_view::npos;
  const int family = address.v6 ? AF_INET6 : AF_INET;
  if (whole && ::inet_pton(family, std::string(text).c_str(), address.bytes.data()) == 1) {
    return address;
  }
  return absl::InvalidArgumentError(
      StrCat("\"", text, "\" is not an IP address; write it like 10.0.0.1 or 2001:db8::1"));
}

IpAddress IpAddress::Plus(std::uint32_t count) const {
  IpAddress sum = *this;
  std::uint64_t carry = count;
  for (std::size_t i = size(); i-- > 0 && carry != 0;) {
    carry += sum.bytes[i];
    sum.bytes[i] = static_cast<std::uint8_t>(carry & 0xFF);
    carry >>= 8;
  }
  return sum;
}

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN];
  return ::inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), text, sizeof text);
}

}  // namespace yardmaster
