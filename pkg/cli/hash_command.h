// Parses the packets that the verb `hash` reads.
//
// Thread safety: pure function.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/repac/packet.h"

namespace yardmaster::cli {

// Parses a line sip,dip,protocol,sport,dport[,ingressPort]. Addresses are IPv4 or IPv6; the
// protocol is a number, udp or tcp. Errors: InvalidArgument, with the wrong column.
absl::StatusOr<repac::Packet> ParsePacketLine(std::string_view line);

}  // namespace yardmaster::cli
