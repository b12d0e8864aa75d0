// An independent check of a placement before it is committed. Shares no code with pkg/placement: it
// recomputes groups from the rank arithmetic and places from names.
//
// Complexity: O(GPUs). Thread safety: pure function.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// OK, or FailedPrecondition that lists every broken promise: a rank without a host, a host out or
// not eligible or without room (counting all ranks given to it), a backup or reserved host used
// although not allowed, a Required group split. `now` is the job's present assignment, if it has
// one; its own occupation does not count against it and hosts it keeps are not checked for health.
absl::Status VerifyPlacement(const Snapshot& snapshot, JobId job,
                             const std::vector<fabric::HostId>& host_of_rank,
                             bool may_use_backup = false);

}  // namespace yardmaster::plan
