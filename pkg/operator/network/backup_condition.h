// Whether the Fabric's policy keeps enough backup hosts for the failures that were seen: condition
// BackupSuffices.
//
// For the largest segment, by the model of pkg/capacity/spare_hosts.h with the rate at which the
// TrainingJobs of the cluster lost hosts (state/host_failures.h) and a day for a repair: enough are
// as many as replace a lost host inside its segment with a probability of 99 %. Nothing is said
// before three failures were seen, nor of a Fabric that keeps no backup hosts.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/api/fabric.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/host_failures.h"

namespace yardmaster::op {

inline constexpr char kBackupSufficesCondition[] = "BackupSuffices";

// `snapshot`: of the cluster that plans on `fabric`. Its text changes only when the answer does.
void AddBackupCondition(const api::Fabric& fabric, const plan::Snapshot& snapshot,
                        const state::HostFailures& seen, std::int64_t now_ms,
                        api::FabricStatus& status);

}  // namespace yardmaster::op
