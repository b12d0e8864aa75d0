// Computes the condition BackupSuffices of a Fabric: whether its policy keeps enough backup hosts
// for the failures that were seen.
//
// The answer is for the largest segment, by the model of pkg/capacity/spare_hosts.h with the rate
// at which the TrainingJobs of the cluster lost hosts (state/host_failures.h) and one day for a
// repair. The backup hosts are enough if they replace a lost host inside its segment with a
// probability of at least 99 %. The condition is not set before three failures were seen, nor for a
// Fabric without backup hosts.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/api/fabric.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/host_failures.h"

namespace yardmaster::op {

inline constexpr char kBackupSufficesCondition[] = "BackupSuffices";

// Sets the condition in `status`. `snapshot`: of the cluster that plans on `fabric`. The text
// changes only when the answer changes.
void AddBackupCondition(const api::Fabric& fabric, const plan::Snapshot& snapshot,
                        const state::HostFailures& seen, std::int64_t now_ms,
                        api::FabricStatus& status);

}  // namespace yardmaster::op
