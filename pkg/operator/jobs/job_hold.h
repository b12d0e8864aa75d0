// Whether a job is held before its first pod is made: what it asks of others than the API server is
// not there, and pods that are made all the same would run past a quota, or wait without end with
// all of it.
//
//   a queue of Kueue that has not admitted it   nothing here lets Kueue admit TrainingJobs by
//   itself GPUs by resource claims                     hosts are not chosen for devices that claims
//   ask for
//
// A job that Kueue has admitted has its labels in its template. Thread safety: pure functions.
#pragma once

#include "pkg/api/training_job.h"
#include "pkg/operator/jobs/stall_reason.h"

namespace yardmaster::op {

// Does not exist where the job is not held.
StallReason HoldReason(const api::TrainingJob& job);

}  // namespace yardmaster::op
