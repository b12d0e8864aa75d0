#include "pkg/base/ip_address.h"

#include <optional>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster {

namespace {

std::optional<std::uint32_t> ParseV4(std::string_view text) {
  const std::vector<std::string> parts = Split(text, '.');
  if (parts.size() != 4) return std::nullopt;
  std::uint32_t address = 0;
  for (const std::string& part : parts) {
    const auto byte = ParseNumber<std::uint8_t>(part);
    // "010" is octal to some readers and decimal to others: refused.
    if (!byte || (part.size() > 1 && part[0] == '0')) return std::nullopt;
    address = address << 8 | *byte;
  }
  return address;
}

// The 16-bit groups of a colon-separated run; "" has none. An IPv4 tail counts as two.
std::optional<std::vector<std::uint16_t>> ParseGroups(std::string_view text) {
  std::vector<std::uint16_t> groups;
  if (text.empty()) return groups;
  const std::vector<std::string> parts = Split(text, ':');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    if (i + 1 == parts.size() && part.find('.') != std::string::npos) {
      const auto v4 = ParseV4(part);
      if (!v4) return std::nullopt;
      groups.push_back(static_cast<std::uint16_t>(*v4 >> 16));
      groups.push_back(static_cast<std::uint16_t>(*v4 & 0xFFFF));
      continue;
    }
    std::uint16_t group = 0;
    const char* end = part.data() + part.size();
    const auto [at, error] = std::from_chars(part.data(), end, group, 16);
    if (part.empty() || part.size() > 4 || error != std::errc() || at != end) return std::nullopt;
    groups.push_back(group);
  }
  return groups;
}

std::optional<IpAddress> ParseV6(std::string_view text) {
  const std::size_t gap = text.find("::");
  const auto head = ParseGroups(text.substr(0, gap));
  std::optional<std::vector<std::uint16_t>> tail = std::vector<std::uint16_t>();
  if (gap != std::string_view::npos) tail = ParseGroups(text.substr(gap + 2));
  if (!head || !tail) return std::nullopt;
  const std::size_t given = head->size() + tail->size();
  if (gap == std::string_view::npos ? given != 8 : given > 7) return std::nullopt;
  IpAddress address;
  address.v6 = true;
  const auto put = [&address](std::size_t group, std::uint16_t value) {
    address.bytes[2 * group] = static_cast<std::uint8_t>(value >> 8);
    address.bytes[2 * group + 1] = static_cast<std::uint8_t>(value & 0xFF);
  };
  for (std::size_t i = 0; i < head->size(); ++i) put(i, (*head)[i]);
  for (std::size_t i = 0; i < tail->size(); ++i) put(8 - tail->size() + i, (*tail)[i]);
  return address;
}

std::string Hex(unsigned value) {
  char buffer[8];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, 16).ptr);
}

}  // namespace

IpAddress IpAddress::V4(std::uint32_t host_order) {
  IpAddress address;
  for (std::size_t i = 0; i < 4; ++i) {
    address.bytes[i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
  }
  return address;
}

absl::StatusOr<IpAddress> IpAddress::Parse(std::string_view text) {
  if (text.find(':') != std::string_view::npos) {
    if (const auto v6 = ParseV6(text)) return *v6;
  } else if (const auto v4 = ParseV4(text)) {
    return V4(*v4);
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
  if (!v6) {
    return StrCat(int{bytes[0]}, ".", int{bytes[1]}, ".", int{bytes[2]}, ".", int{bytes[3]});
  }
  const auto group = [this](int i) {
    const std::size_t at = 2 * static_cast<std::size_t>(i);
    return unsigned{bytes[at]} << 8 | bytes[at + 1];
  };
  // The longest run of at least two zero groups is left out.
  int best = -1;
  int best_size = 1;
  for (int i = 0; i < 8; ++i) {
    int size = 0;
    while (i + size < 8 && group(i + size) == 0) ++size;
    if (size > best_size) {
      best = i;
      best_size = size;
    }
  }
  std::string text;
  for (int i = 0; i < 8; ++i) {
    if (i == best) {
      text += "::";
      i += best_size - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ":";
    text += Hex(group(i));
  }
  return text;
}

}  // namespace yardmaster
