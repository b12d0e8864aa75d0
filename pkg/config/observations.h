// What was seen of a fabric from outside, in the two JSON documents that `fabric verify`, `fabric
// trust` and the operator compare with the blueprint. YAML is read too. Unknown keys are refused.
//
// Neighbours: {"neighbours": [{"local": "p00s00h003:r2p1", "remote": "p00/p00s00/tor-r2-p1:d4"}]}.
// `local` is the port that reports, `remote` the port it sees. A NIC port is HOST:rRAILpPORT, a
// switch's up port SWITCH:uN from 0, its down port SWITCH:dN from 1 in the order of the blueprint.
// Either side may report, or both. An entry may have `chassis`, what LLDP calls the switch, besides
// `remote` or instead of it.
//
// Paths: {"paths": [{"from": "p00s00h000/0/0", "to": "p00s01h000/0/0", "sourcePort": 49321,
// "links": ["p00/p00s00/tor-r0-p0:u11.up", null]}]}. Links are named and ordered as `path` prints
// them; the source NIC's own may be left out; null is a hop that did not answer; the list may end
// early.
//
// Errors: InvalidArgument of the form "document: paths[0].to: ...". Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/repac/path_trust.h"
#include "pkg/repac/wiring.h"

namespace yardmaster::config {

// "HOST/RAIL/PORT". Errors: InvalidArgument that begins with `field`.
absl::StatusOr<fabric::NicPort> ParseNicPort(const fabric::Network& network, std::string_view field,
                                             std::string_view text);

absl::StatusOr<std::vector<repac::Neighbour>> ReadNeighbours(const std::string& text,
                                                             const std::string& name);

absl::StatusOr<std::vector<repac::ObservedPath>> ReadObservedPaths(const fabric::Network& network,
                                                                   const std::string& text,
                                                                   const std::string& name);

}  // namespace yardmaster::config
