// The annotations of a Node that describe its NICs.
//
//   yardmaster.dev/down-ports      "r0p1,r3p0"          ports without a link, written by the agent
//   yardmaster.dev/lossy-ports     "r0p1=20000"         ports on which frames arrive damaged, and
//                                                       how many of a million; by the agent
//   yardmaster.dev/nic-addresses   "10.0.0.1,10.0.0.2"  one address for each rail, rail 0 first
//
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/base/ip_address.h"

namespace yardmaster::api {

// Rail and port of a NIC.
using NicPortKey = std::pair<int, int>;

// Parts of an annotation that are not what they should be. Whoever writes it cannot make these
// large.
struct UnreadableParts {
  static constexpr std::size_t kMaxParts = 8;
  static constexpr std::size_t kMaxBytes = 40;
  std::vector<std::string> first;  // kMaxParts, each cut at kMaxBytes
  std::size_t count = 0;           // of all
};

struct DownPorts {
  std::vector<NicPortKey> ports;  // each once
  UnreadableParts unreadable;     // that do not name a port
};

// "" for no ports.
std::string EncodeDownPorts(const std::vector<NicPortKey>& ports);
// `rails` and `ports_of_nic` bound what a part may name.
DownPorts DecodeDownPorts(std::string_view text, int rails, int ports_of_nic);

struct LossyPort {
  NicPortKey key;
  int per_million = 0;  // frames; 1 to 1,000,000
  bool operator==(const LossyPort&) const = default;
};

struct LossyPorts {
  std::vector<LossyPort> ports;  // each once
  UnreadableParts unreadable;    // that are something else, or name a port again
};

// "" for no ports.
std::string EncodeLossyPorts(const std::vector<LossyPort>& ports);
LossyPorts DecodeLossyPorts(std::string_view text, int rails, int ports_of_nic);

std::string EncodeNicAddresses(const std::vector<IpAddress>& addresses);
// Errors: InvalidArgument unless there is one address for each of `rails` rails, all different, all
// IPv4 or all IPv6.
absl::StatusOr<std::vector<IpAddress>> DecodeNicAddresses(std::string_view text, int rails);

}  // namespace yardmaster::api
