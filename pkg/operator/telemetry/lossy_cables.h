// NIC ports that are up and on which frames arrive damaged, as the agents report them by the Node
// annotation yardmaster.dev/lossy-ports. Flows avoid them where another port of the NIC has a way
// (NetworkInput::lossy), so that no report, however wrong, leaves a connection without one.
//
// A Node speaks for its own ports only. Reports of more than a tenth of all NIC ports, and at least
// 8, are dropped as a whole, until they are at most half as many: a counter is wrong then. That is
// stricter than for links that are down (DropFabricWideLoss), since a false alarm may name one port
// of every NIC, and a port that is used in spite of loss still carries packets. Ports that are down
// are left out; so are parts that cannot be read, which a warning of the snapshot names.
// Thread safety: pure function.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/node.h"
#include "pkg/fabric/network.h"
#include "pkg/state/object_table.h"

namespace yardmaster::op {

struct LossyCables {
  std::vector<fabric::CableId> cables;  // ascending
  std::vector<std::string> evidence;    // of each: "n1:r0p1 (20000 frames of a million)"
  int distrusted = 0;                   // ports reported, too many to be believed
};

// `down`: ascending. `distrusted`: the reports were dropped the last time.
LossyCables ReadLossyCables(const state::ObjectTable<api::Node>& nodes,
                            const fabric::Network& network,
                            const std::vector<fabric::CableId>& down, bool distrusted);

}  // namespace yardmaster::op
