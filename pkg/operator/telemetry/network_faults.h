// Which cables flows may use: what agents and people report as down, what routing has made of that,
// and what is held back because it flaps.
//
//   down links   the Nodes' down-ports (in Snapshot::cable_down) and the Fabric's annotation
//                yardmaster.dev/down-links:
//                {"version":1,"links":["p0/s0/tor-r2-p0:u17"],"switches":["p0/agg-p1-3"]}
//   not noticed  for `reconverge_ms` after a report switches still hash over the lost member:
//                packets go into it, so flows avoid it by ports that are right for the old group
//   noticed      afterwards the group has shrunk and every index in it has moved
//   held back    up again, used by routing, and avoided by us until FlapDamper trusts it
// What was down when the watch began is treated as noticed long ago.
//
// Thread safety: none. Determinism: a function of the observations.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/fabric.h"
#include "pkg/fabric/network.h"
#include "pkg/repac/flap_damper.h"

namespace yardmaster::op {

struct DownLinks {
  std::vector<fabric::CableId> cables;  // ascending
  std::vector<std::string> unknown;     // names the fabric does not have
};

// Reads yardmaster.dev/down-links. Errors: InvalidArgument for a text that cannot be read; names
// that do not exist are listed instead.
absl::StatusOr<DownLinks> ReadDownLinks(const fabric::Network& network, std::string_view text);

// Marks in `down` (by cable; made as long as the fabric has cables) what the Fabric's annotation
// names. Returns what of it could not be used, for people; empty: nothing is wrong.
std::string MarkDownLinks(const api::Fabric& fabric, const fabric::Network& network,
                          std::vector<std::uint8_t>& down);

// Agents that report more than half of all NIC ports, and at least 8, as down are wrong rather than
// the fabric: nothing would run. Such reports are dropped as a whole. `down`: by cable. Returns how
// many were; 0: the reports are used.
int DropFabricWideLoss(const fabric::Network& network, std::vector<std::uint8_t>& down);

struct CableStates {
  std::vector<std::uint8_t> down;      // by cable: routing has left it; empty: none
  std::vector<fabric::CableId> avoid;  // the others that no flow may use, ascending
  std::vector<fabric::CableId> reported;
  int held = 0;  // of avoid: up again and held back
  // When this changes without a new report; -1: it does not.
  std::int64_t next_change_ms = -1;
};

class FaultTracker {
 public:
  FaultTracker(repac::DampingOptions damping, std::int64_t reconverge_ms)
      : damping_(damping), reconverge_ms_(reconverge_ms), damper_(damping) {}

  // Another network: cable ids mean something else, and what is down then is down since ever.
  void Reset();
  // `reported`: by cable, as reported now; empty: none. Times must not go back.
  CableStates Observe(const std::vector<std::uint8_t>& reported, std::int64_t now_ms);

 private:
  const repac::DampingOptions damping_;
  const std::int64_t reconverge_ms_;
  repac::FlapDamper damper_;
  bool begun_ = false;
  std::map<fabric::CableId, std::int64_t> down_since_ms_;  // what is reported now
};

}  // namespace yardmaster::op
