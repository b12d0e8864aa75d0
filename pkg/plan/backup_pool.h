// Which hosts are kept as backup where the Fabric's policy chooses them (BackupWhich::kChosen) and
// not only label and taint.
//
// A segment of h hosts keeps as many as the policy says: its count, scaled where the segment is not
// fully built, or its ratio rounded up, whichever is more, but never all. Where hosts have domains
// and the Fabric says how many backup hosts one keeps, each domain keeps so many first, scaled
// likewise and never all, and the segment what is then missing. Nodes that are marked as
// backup come first (all of them count, even if more); then hosts in service that are wholly free,
// then those with nothing but preemptible jobs on them where spares are lent, then busy ones, then
// those that are unavailable; equal ones by id, the highest first.
//
// Why so: the choice looks at no history, so any process makes the same one. The failure of an
// ordinary host does not change the pool; a failed backup host is replaced by the next free host,
// and a repaired host refills the pool. The number kept does not depend on which hosts are busy or
// down, so that
// "Never" stays proved.
//
// Complexity: O(hosts + ranks). Deterministic. Thread safety: pure functions.
#pragma once

#include "pkg/fabric/spec.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// Hosts that a segment of `hosts` hosts keeps, if it was built for `planned` of them.
int BackupHostsOf(const fabric::BackupPolicy& policy, int hosts, int planned);
// Hosts that a domain of `hosts` hosts keeps.
int BackupHostsOf(const fabric::ScaleUp& scale_up, int hosts);

// Sets HostState::backup by the policy of snapshot.network; does nothing without a network or where
// the policy is BackupWhich::kMarked. REQUIRES: occupation, health and assignments are known.
void ApplyBackupPolicy(Snapshot& snapshot);

}  // namespace yardmaster::plan
