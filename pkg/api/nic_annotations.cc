#include "pkg/api/nic_annotations.h"

#include <algorithm>
#include <optional>
#include <set>

#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

std::optional<NicPortKey> ParsePort(std::string_view text, int rails, int ports_of_nic) {
  const std::size_t p = text.find('p');
  if (text.empty() || text[0] != 'r' || p == std::string_view::npos) return std::nullopt;
  const auto rail = ParseNumber<int>(text.substr(1, p - 1));
  const auto port = ParseNumber<int>(text.substr(p + 1));
  if (!rail || !port || *rail < 0 || *rail >= rails || *port < 0 || *port >= ports_of_nic) {
    return std::nullopt;
  }
  return NicPortKey(*rail, *port);
}

void Add(std::string_view part, UnreadableParts& parts) {
  if (++parts.count > UnreadableParts::kMaxParts) return;
  parts.first.emplace_back(CutAtCharacter(part, UnreadableParts::kMaxBytes));
}

}  // namespace

std::string EncodeDownPorts(const std::vector<NicPortKey>& ports) {
  std::vector<std::string> parts;
  parts.reserve(ports.size());
  for (const auto& [rail, port] : ports) parts.push_back(StrCat("r", rail, "p", port));
  return Join(parts, ",");
}

DownPorts DecodeDownPorts(std::string_view text, int rails, int ports_of_nic) {
  DownPorts out;
  if (text.empty()) return out;
  for (const std::string& part : Split(text, ',')) {
    const auto port = ParsePort(part, rails, ports_of_nic);
    if (!port) {
      Add(part, out.unreadable);
    } else if (std::find(out.ports.begin(), out.ports.end(), *port) == out.ports.end()) {
      out.ports.push_back(*port);
    }
  }
  return out;
}

std::string EncodeLossyPorts(const std::vector<LossyPort>& ports) {
  std::vector<std::string> parts;
  parts.reserve(ports.size());
  for (const LossyPort& port : ports) {
    parts.push_back(StrCat(EncodeDownPorts({port.key}), "=", port.per_million));
  }
  return Join(parts, ",");
}

LossyPorts DecodeLossyPorts(std::string_view text, int rails, int ports_of_nic) {
  LossyPorts out;
  if (text.empty()) return out;
  for (const std::string& part : Split(text, ',')) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view view = part;
    const auto key = ParsePort(view.substr(0, equals), rails, ports_of_nic);
    const int share = ParseNumber<int>(view.substr(std::min(equals + 1, part.size()))).value_or(0);
    const bool known = key && std::any_of(out.ports.begin(), out.ports.end(),
                                          [&](const LossyPort& port) { return port.key == *key; });
    if (key && !known && share >= 1 && share <= 1'000'000) {
      out.ports.push_back({*key, share});
    } else {
      Add(part, out.unreadable);
    }
  }
  return out;
}

std::string EncodeNicAddresses(const std::vector<IpAddress>& addresses) {
  std::vector<std::string> parts;
  parts.reserve(addresses.size());
  for (const IpAddress& address : addresses) parts.push_back(address.ToString());
  return Join(parts, ",");
}

absl::StatusOr<std::vector<IpAddress>> DecodeNicAddresses(std::string_view text, int rails) {
  std::vector<IpAddress> out;
  std::set<IpAddress> distinct;
  bool readable = true;
  for (const std::string& part : Split(text, ',')) {
    const auto address = IpAddress::Parse(part);
    readable = readable && address.ok();
    if (!readable) break;
    out.push_back(*address);
    distinct.insert(*address);
  }
  const bool one_kind = std::all_of(out.begin(), out.end(),
                                    [&](const IpAddress& a) { return a.v6 == out.front().v6; });
  if (readable && static_cast<int>(out.size()) == rails && distinct.size() == out.size() &&
      one_kind) {
    return out;
  }
  return absl::InvalidArgumentError(StrCat("\"", CutAtCharacter(text, 512),
                                           "\" is not one address for each of ", rails,
                                           " rails, all IPv4 or all IPv6"));
}

}  // namespace yardmaster::api
