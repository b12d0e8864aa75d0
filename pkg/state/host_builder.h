// The hosts' half of a snapshot: places, network, states, cables that are down. See
// snapshot_builder.h for the rules. Thread safety: values and pure functions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/api/fabric.h"
#include "pkg/api/gang.h"
#include "pkg/api/node.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::state {

struct Hosts {
  const fabric::FabricSpec* spec = nullptr;  // of the Fabric in use, or null
  int gpus_per_host = 8;
  // By HostId; null where a gang was promised a host whose Node is gone.
  std::vector<const api::Node*> node_of_host;
};

// Fills places, network, cluster and cable_down of `snapshot` and appends warnings. `fabrics` and
// `nodes` must outlive the result. Places of promised hosts that have no Node any more come from
// the gangs' own status, so that the ledger never points nowhere.
Hosts BuildHosts(const std::vector<std::shared_ptr<const api::Fabric>>& fabrics,
                 const std::vector<std::shared_ptr<const api::Node>>& nodes,
                 const std::vector<std::shared_ptr<const api::Gang>>& gangs,
                 plan::Snapshot& snapshot);

}  // namespace yardmaster::state
