// Creates the ComputeDomain of a TrainingJob (pods/pod_compute_domain.h).
//
// Thread safety: that of the client.
#pragma once

#include "absl/status/status.h"

#include "pkg/api/training_job.h"
#include "pkg/kube/client.h"
#include "pkg/operator/jobs/stall_reason.h"
#include "pkg/state/device_tables.h"

namespace yardmaster::op {

// Creates the object if it does not exist; with `dry_run`, asks the API server whether it would be
// created. Returns OK and sets `stall` if the job cannot have the object. Errors: any other error
// of the API server. REQUIRES: job.compute_domain.
absl::Status CreateComputeDomain(kube::Client& client, const api::TrainingJob& job,
                                 const state::DeviceTables& devices, bool dry_run,
                                 StallReason& stall);

}  // namespace yardmaster::op
