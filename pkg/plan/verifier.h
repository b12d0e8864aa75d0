// Checks a placement independently before it is committed. Shares no code with pkg/placement, only
// the data types: it recomputes groups from the rank arithmetic and compares places by name.
//
// Complexity: O(GPUs * log GPUs). Thread safety: pure function.
#pragma once

#include <vector>

#include "absl/status/status.h"

#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// Returns OK, or FailedPrecondition with the first 20 faults and the number of the others. Faults:
//   - a rank without a host; then nothing else is checked;
//   - a host that is unavailable, not eligible for the job or the rank, or too small for all ranks
//     on it;
//   - a backup or reserved host that the job may not use;
//   - hosts of different GPU models;
//   - a Required group that is split, or too many stages in a segment;
//   - a unit of hosts that is not alone in one domain.
// If the job has an assignment, its own occupation does not count against it, and ranks that keep
// their host are checked for limits only.
absl::Status VerifyPlacement(const Snapshot& snapshot, JobId job,
                             const std::vector<fabric::HostId>& host_of_rank,
                             bool may_use_backup = false);

}  // namespace yardmaster::plan
