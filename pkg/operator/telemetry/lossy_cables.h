// Reads from the Nodes' annotation yardmaster.dev/lossy-ports the NIC ports that are up and receive
// damaged frames. Flows avoid these ports if another port of the NIC has a path
// (NetworkInput::lossy), so a wrong report cannot disconnect a host.
//
//   - A Node can report only its own ports.
//   - If more than a tenth of all NIC ports are reported, and at least 8, all reports are dropped,
//     until at most half as many are reported: the counters are wrong then. This limit is stricter
//     than that for ports that are down (DropFabricWideLoss), because a wrong counter may name one
//     port of every NIC, and a lossy port that stays in use still carries packets.
//   - Ports that are down are left out.
//   - Entries that cannot be read are left out; a warning of the snapshot names them.
//
// Thread safety: pure function.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/fabric.h"
#include "pkg/api/node.h"
#include "pkg/fabric/network.h"
#include "pkg/state/object_table.h"

namespace yardmaster::op {

// Condition type of a Fabric. Unknown: the reports were dropped.
inline constexpr char kLinksCleanCondition[] = "LinksClean";

struct LossyCables {
  std::vector<fabric::CableId> cables;  // ascending
  std::vector<std::string> evidence;    // by cable: "n1:r0p1 (20000 frames of a million)"
  int distrusted = 0;                   // number of reported ports if they were dropped, else 0
};

// `fabric`: that of the network; its condition LinksClean says whether the previous call dropped
// the reports. `down`: ascending.
LossyCables ReadLossyCables(const api::Fabric& fabric, const state::ObjectTable<api::Node>& nodes,
                            const fabric::Network& network,
                            const std::vector<fabric::CableId>& down);

}  // namespace yardmaster::op
