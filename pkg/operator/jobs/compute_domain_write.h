// Creates the ComputeDomain of a TrainingJob (pods/pod_compute_domain.h).
//
// Thread safety: as the client.
#pragma once

#include "absl/status/status.h"

#include "pkg/api/training_job.h"
#include "pkg/kube/client.h"
#include "pkg/operator/jobs/stall_reason.h"
#include "pkg/state/device_tables.h"

namespace yardmaster::op {

// Creates the object where it is missing; with `dry_run`, asks the API server whether it would be
// created. OK with `stall` set: the job cannot have the object, and why. Errors: what else the API
// server said. REQUIRES: job.compute_domain.
absl::Status CreateComputeDomain(kube::Client& client, const api::TrainingJob& job,
                                 const state::DeviceTables& devices, bool dry_run,
                                 StallReason& stall);

}  // namespace yardmaster::op
