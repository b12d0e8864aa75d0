// Computes, from a plan that is carried out, the previous network from which the next plan starts.
// Thread safety: pure function.
#pragma once

#include "pkg/netplan/network_decisions.h"
#include "pkg/netplan/previous_network.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::netplan {

// Returns the network after `plan` is carried out. Flows of `before` that have no way at present
// are kept unchanged, as long as their job has network numbers in `plan` and is assigned to both
// hosts.
PreviousNetwork PreviousNetworkAfter(const NetworkPlan& plan, const plan::Snapshot& snapshot,
                                     const PreviousNetwork& before);

}  // namespace yardmaster::netplan
