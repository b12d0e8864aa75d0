// Whether a job is held before its first pod is made: it names a queue of Kueue and is not in it,
// because Kueue is not followed (queue/queue_controller.h); or its pods name one. Pods that were
// made all the same would run past the queue's quota, or wait without end with all of it. A job
// that is in its queue is held by its status.queue. One that another controller has admitted has
// Kueue's labels in its template.
//
// Jobs with resource claims are not held: their pods ask for spec.gpusPerWorker beside claims that
// ask for no GPUs.
//
// A job that had a place or has run is never held: it would keep its hosts and have no pods.
//
// Thread safety: pure functions.
#pragma once

#include "pkg/api/training_job.h"
#include "pkg/operator/jobs/stall_reason.h"

namespace yardmaster::op {

// Does not exist where the job is not held. REQUIRES: it has no pods.
StallReason HoldReason(const api::TrainingJob& job, bool was_placed);

}  // namespace yardmaster::op
