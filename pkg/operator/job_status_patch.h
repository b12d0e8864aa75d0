// Writes a part of a TrainingJob's status under the resourceVersion that the part was decided on.
//
// Thread safety: as the client and the cache.
#pragma once

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/training_job.h"
#include "pkg/kube/client.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

// Merges `fields` into the status; a merge patch keeps the fields that it does not name. On success
// `cache` and `job`'s resourceVersion are those of the written object; the caller updates
// `job.status`. Errors: Aborted when the job has changed since `job` was read; NotFound when it is
// gone.
absl::Status PatchJobStatus(kube::Client& client, state::ClusterCache& cache, api::TrainingJob& job,
                            const nlohmann::json& fields);

}  // namespace yardmaster::op
