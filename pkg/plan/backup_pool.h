// Chooses the hosts that are kept as backup if the Fabric's policy chooses them
// (BackupWhich::kChosen), in addition to hosts that users mark by label or taint.
//
// How many: a segment of h hosts keeps the larger of the policy's count, scaled if the segment is
// not fully built, and the policy's ratio, rounded up; but never all. If hosts have domains and the
// Fabric gives a number per domain, each domain first keeps its number, scaled likewise and never
// all, and the segment then keeps what is still missing.
//
// Which: in this order, among equals the highest id first:
//   1. marked Nodes (all of them count, even if they are more);
//   2. free hosts in service;
//   3. hosts that hold only preemptible jobs, if the policy lends spares;
//   4. busy hosts;
//   5. unavailable hosts.
//
// Reasons: the choice depends on no history, so every process makes the same one. The failure of an
// ordinary host does not change the pool. A failed backup host is replaced by the next free host,
// and a repaired host refills the pool. The number does not depend on which hosts are busy or down,
// so the outcome Never stays proved.
//
// Complexity: O(hosts + ranks). Deterministic. Thread safety: pure functions.
#pragma once

#include "pkg/fabric/spec.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// Returns how many hosts a segment of `hosts` hosts keeps, if it is built for `planned` hosts.
int BackupHostsOf(const fabric::BackupPolicy& policy, int hosts, int planned);
// Returns how many hosts a domain of `hosts` hosts keeps.
int BackupHostsOf(const fabric::ScaleUp& scale_up, int hosts);

// Sets HostState::backup by the policy of snapshot.network. Does nothing without a network, or if
// the policy is BackupWhich::kMarked. REQUIRES: occupation, health and assignments are known.
void ApplyBackupPolicy(Snapshot& snapshot);

}  // namespace yardmaster::plan
