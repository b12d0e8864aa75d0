// Adds to the pods of an admitted TrainingJob what the admission requires (api/queue_status.h):
// node labels and tolerations of the flavors, and what admission checks add.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>

#include "pkg/api/pod_manifest.h"
#include "pkg/api/training_job.h"

namespace yardmaster::op {

// `index`: 0 for a worker, else 1 plus the number of the role. Labels and annotations that the pod
// already has are kept. A pod of a job that is not in a queue is not changed.
void AddAdmission(const api::TrainingJob& job, std::size_t index, api::PodManifest& pod);

}  // namespace yardmaster::op
