// Decides whether the operator must not create the first pod of a job, because of Kueue:
//   - the job names a queue of Kueue and is not in it, because the operator does not follow Kueue
//     (queue/queue_controller.h). Its pods would exceed the queue's quota, or wait for ever with
//     all of it;
//   - its pods name a queue, which would admit each pod by itself.
//
// A job that is in its queue is held by its status.queue instead. A job that another controller has
// admitted has Kueue's labels in its template and is not held here. A job that had a place or has
// run is never held, because it would keep its hosts and have no pods.
//
// Jobs with resource claims are not held for their claims: their pods request spec.gpusPerWorker
// beside claims that request no GPUs.
//
// Thread safety: pure functions.
#pragma once

#include "pkg/api/training_job.h"
#include "pkg/operator/jobs/stall_reason.h"

namespace yardmaster::op {

// Returns why the job is held; StallReason::exists is false if it is not. REQUIRES: the job has no
// pods.
StallReason HoldReason(const api::TrainingJob& job, bool was_placed);

}  // namespace yardmaster::op
