// The packets that the verb `hash` reads. Thread safety: a pure function.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/repac/packet.h"

namespace yardmaster::cli {

// One line: sip,dip,protocol,sport,dport[,ingressPort]. Addresses are IPv4 or IPv6, the protocol a
// number, udp or tcp. Errors: InvalidArgument saying which column is wrong.
absl::StatusOr<repac::Packet> ParsePacketLine(std::string_view line);

}  // namespace yardmaster::cli
