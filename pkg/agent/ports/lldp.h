// Parses the neighbours of a host as lldpd reports them: `lldpcli -f json show neighbors` and `-f
// json0`.
//
// json0 has the same shape for any number of interfaces: arrays everywhere, objects {"name":
// "eth2", "chassis": [...], "port": [...]}, and {"value": ...} around texts. json omits arrays of
// one element and such objects, and uses names as keys: {"eth2": {"chassis": {"leaf1": {...}},
// "port": {...}}}. Both forms, and mixtures of them, are accepted.
//
// An entry without an interface, a chassis or a port is skipped. Errors: InvalidArgument for text
// that is not JSON or has no object or array `lldp`, and for more than kMaxLldpNeighbours entries.
// Bounds: the caller limits the length of the text; texts longer than kMaxLldpText bytes are cut.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::agent {

inline constexpr std::size_t kMaxLldpNeighbours = 1024;
inline constexpr std::size_t kMaxLldpText = 255;  // the limit of LLDP

struct LldpNeighbour {
  std::string interface;   // of this host: "eth2"
  std::string chassis;     // system name of the other side; its chassis id where it has none
  std::string chassis_id;  // empty: not stated
  std::string port;        // port id of the other side: "Ethernet12", or a MAC address
  bool operator==(const LldpNeighbour&) const = default;
};

// In the order of the text.
absl::StatusOr<std::vector<LldpNeighbour>> ParseLldpNeighbours(std::string_view json);

}  // namespace yardmaster::agent
