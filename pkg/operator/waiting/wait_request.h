// Builds the Gang by which the operator requests a place for a suspended job. It is the Gang that
// the extender would create from the job's pods (pkg/gather), computed from one dry-run pod per
// template.
//
// A job cannot wait without pods if the hosts that its pods may use are known only once the pods
// exist. That is the case for pods with PersistentVolumeClaims, resource claims, scheduling gates
// of other controllers, a selected host, or a PodGroup.
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

// Returns the Gang in the form in which the API server returns it, with GangPods::kFollow. `first`:
// the first pod of each set, as admission returned it. Errors: InvalidArgument with the field and
// the fix. REQUIRES: one pod per set.
absl::StatusOr<api::Gang> WaitRequestOf(const WaitingJob& job, const std::vector<PodSet>& sets,
                                        const std::vector<std::shared_ptr<const api::Pod>>& first);

}  // namespace yardmaster::op
