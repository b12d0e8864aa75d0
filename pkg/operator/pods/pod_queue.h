// What pods of an admitted TrainingJob get from the admission (api/queue_status.h): labels of the
// Nodes and tolerations of their flavors, and what admission checks add.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>

#include "pkg/api/pod_manifest.h"
#include "pkg/api/training_job.h"

namespace yardmaster::op {

// `index`: 0 for a worker, else 1 and the number of the role. Labels and annotations that the pod
// has are kept. A pod of a job that is not in a queue stays as it is.
void AddAdmission(const api::TrainingJob& job, std::size_t index, api::PodManifest& pod);

}  // namespace yardmaster::op
