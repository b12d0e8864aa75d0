// `kubectl yardmaster hash -f MODEL.yaml --members N [-o json]`: what a switch's hash makes of
// packets.
//
//   -f FILE        the `ecmpHash` block of a switch role, YAML or JSON
//   --members N    how many members the ECMP group has
//   -o json        the only format: one object a line
//
// Packets come on `in`, one a line: sip,dip,protocol,sport,dport[,ingressPort]. Addresses are IPv4
// or IPv6, the protocol a number, udp or tcp. Empty lines and lines that begin with # are skipped.
// Answers in order:
//   {"hash": 4660, "index": 17}   or   {"unpredictable": "per-packet random"}
// `hash` is the value after rotating and keeping, `index` is it modulo N; with model linux the member
// by hash threshold, weighted by `group.weights` where that has N entries. Such weights of other models are
// an error.
//
// Returns the exit code: 0 answered, 1 the input is wrong (answers to the lines before it are
// given), 2 usage. Thread safety: reads the file named, else pure.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/repac/packet.h"

namespace yardmaster::cli {

int RunHashCommand(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                   std::ostream& err);

// One line. Errors: InvalidArgument saying which column is wrong.
absl::StatusOr<repac::Packet> ParsePacketLine(std::string_view line);

}  // namespace yardmaster::cli
