// The ComputeDomain of a TrainingJob with spec.computeDomain (api/compute_domain.h), and the claim
// of its workers.
//
// The object "<job>" belongs to the job and goes with it. NVIDIA's controller makes the
// ResourceClaimTemplate "<job>-compute-domain" when it has seen the object, and removes it before
// the object ends. Until the template is there, pods that name it wait for their claims. A
// ComputeDomain follows the hosts of its pods, so one serves all attempts, sizes and places of a
// job.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/pod_manifest.h"
#include "pkg/api/training_job.h"

namespace yardmaster::op {

nlohmann::json BuildComputeDomain(const api::TrainingJob& job);
// Adds the claim to the pod and to each of its containers.
void AddChannelClaim(const api::TrainingJob& job, api::PodManifest& pod);

}  // namespace yardmaster::op
