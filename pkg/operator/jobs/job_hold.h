// Whether a job is held before its first pod is made: it names a queue of Kueue that has not
// admitted it. Nothing here lets Kueue admit TrainingJobs by itself; pods that were made all the
// same would run past the queue's quota, or wait without end with all of it. A job that Kueue has
// admitted has its labels in its template.
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
