// An independent check of a placement before it is committed. Shares no code with pkg/placement: it
// recomputes groups from the rank arithmetic and compares places by name. It shares the data types.
//
// Complexity: O(GPUs * log GPUs). Thread safety: pure function.
#pragma once

#include <vector>

#include "absl/status/status.h"

#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// OK, or FailedPrecondition that lists the first 20 faults and the number of the others: a rank
// without a host (then nothing else is checked), a host that is unavailable, not eligible for
// the job or the rank, or without room (counting all ranks given to it), a backup or reserved host
// used although not allowed, hosts of different GPU models, a Required group split, too many stages
// in a segment, a unit of hosts that is not alone in one domain. Of a job that has an assignment
// the own occupation does not count against it, and ranks that keep their host are checked for
// limits only.
absl::Status VerifyPlacement(const Snapshot& snapshot, JobId job,
                             const std::vector<fabric::HostId>& host_of_rank,
                             bool may_use_backup = false);

}  // namespace yardmaster::plan
