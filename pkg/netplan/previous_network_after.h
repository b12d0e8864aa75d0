// From a plan that is carried out to the previous network that the next one starts from. Thread
// safety: pure function.
#pragma once

#include "pkg/netplan/network_decisions.h"
#include "pkg/netplan/previous_network.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::netplan {

// What holds once `plan` is carried out. Flows that `before` knows and that have no way at present
// are kept as they were, as long as their job has network numbers in `plan` and is assigned to both
// hosts.
PreviousNetwork PreviousNetworkAfter(const NetworkPlan& plan, const plan::Snapshot& snapshot,
                                     const PreviousNetwork& before);

}  // namespace yardmaster::netplan
