// FaultTracker decides which cables flows may use, from the links that agents and administrators
// report as down.
//
// A cable passes through these states:
//
//   reported   agents name it (Snapshot::cable_down, from the Nodes' down-ports), or the Fabric's
//              annotation yardmaster.dev/down-links does:
//              {"version":1,"links":["p0/s0/tor-r2-p0:u17"],"switches":["p0/agg-p1-3"]}
//   avoided    for `reconverge_ms` after the report. Switches still hash over the lost group
//   member,
//              so flows avoid it by source ports that are chosen for the old group.
//   down       afterwards. Routing has removed the member, and every index in the group has
//   changed. held back  the cable is up and routing uses it; flows avoid it until FlapDamper
//   releases it.
//
// Cables that are down at the first observation are down, not avoided.
//
// Determinism: a function of the observations. Thread safety: none.
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

// Reads yardmaster.dev/down-links. Errors: InvalidArgument for a text that cannot be read. Names
// that do not exist are listed in `unknown`.
absl::StatusOr<DownLinks> ReadDownLinks(const fabric::Network& network, std::string_view text);

// Marks in `down` the cables that the Fabric's annotation names. `down` is indexed by cable and is
// resized to the number of cables. Returns a message about what could not be used; empty: all was
// used.
std::string MarkDownLinks(const api::Fabric& fabric, const fabric::Network& network,
                          std::vector<std::uint8_t>& down);

// Drops the reports if they name more than half of all NIC ports, and at least 8, as down: the
// agents are wrong then, and no job could run otherwise. `down` is indexed by cable. Returns the
// number of ports that were dropped; 0: the reports are used.
int DropFabricWideLoss(const fabric::Network& network, std::vector<std::uint8_t>& down);

struct CableStates {
  std::vector<std::uint8_t> down;      // by cable: routing does not use it; empty: none
  std::vector<fabric::CableId> avoid;  // the others that no flow may use, ascending
  std::vector<fabric::CableId> reported;
  int held = 0;  // number of cables in `avoid` that are held back
  // When the state changes without a new report; -1: it does not.
  std::int64_t next_change_ms = -1;
};

class FaultTracker {
 public:
  FaultTracker(repac::DampingOptions damping, std::int64_t reconverge_ms)
      : damping_(damping), reconverge_ms_(reconverge_ms), damper_(damping) {}

  // Forgets all observations, because cable ids have changed meaning. Cables that are down at the
  // next observation are down, not avoided.
  void Reset();
  // `reported`: by cable; empty: none. REQUIRES: `now_ms` does not decrease.
  CableStates Observe(const std::vector<std::uint8_t>& reported, std::int64_t now_ms);

 private:
  const repac::DampingOptions damping_;
  const std::int64_t reconverge_ms_;
  repac::FlapDamper damper_;
  bool begun_ = false;
  std::map<fabric::CableId, std::int64_t> down_since_ms_;  // the cables reported now
};

}  // namespace yardmaster::op
