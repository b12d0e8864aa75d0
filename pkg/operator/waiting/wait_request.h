// What the operator asks of the ledger for a job that waits suspended: the Gang that the extender
// would make of the job's pods (pkg/gather), made of one pod of each template as admission
// returned it without making it.
//
// Jobs whose pods say what only pods can say do not wait so: volumes, which limit the hosts once
// they exist; claims; gates of others; a host or a PodGroup that the template names.
//
// Thread safety: pure functions. Complexity: O(pods).
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/gang.h"
#include "pkg/api/pod.h"
#include "pkg/operator/waiting/waiting_job.h"

namespace yardmaster::op {

// As the API server gives it back, with GangPods::kFollow. `first`: the first pod of each set, as
// admission returned it. Errors: InvalidArgument with the field and the fix. REQUIRES: one of each.
absl::StatusOr<api::Gang> WaitRequestOf(const WaitingJob& job, const std::vector<PodSet>& sets,
                                        const std::vector<std::shared_ptr<const api::Pod>>& first);

}  // namespace yardmaster::op
