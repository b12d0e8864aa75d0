// When the pods of a placed gang may be pinned to their slots' hosts and let through the gate. The
// extender and the operator both release pods, by this one rule.
//
// Thread safety: pure functions.
#pragma once

#include "pkg/api/gang.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::state {

// The gang's owner has finished or is gone; the gang holds nothing any more.
bool IsFinished(const api::GangStatus& status);
// It was given hosts and has not given them back.
bool HoldsHosts(const api::GangStatus& status);
// Its slots are on several hosts, so that its pods wait for a network plan.
bool SpansHosts(const api::GangStatus& status);

// The host of the rank's slot, if a pod may be sent there now; it lives as long as the snapshot.
// Null: the rank has no slot; its host is not known or unavailable, so that the rank waits for a
// replacement; or kube-scheduler has refused that host to the rank.
const placement::HostState* ReleaseHost(const api::GangStatus& status, int rank,
                                        const plan::Snapshot& snapshot);

}  // namespace yardmaster::state
