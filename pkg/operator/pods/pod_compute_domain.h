// Builds the ComputeDomain of a TrainingJob with spec.computeDomain (api/compute_domain.h), and the
// claim of its workers.
//
// The object "<job>" is owned by the job and deleted with it. NVIDIA's controller creates the
// ResourceClaimTemplate "<job>-compute-domain" after it has seen the object, and deletes it before
// the object. Pods that name the template wait for their claims until it exists. A ComputeDomain
// follows the hosts of its pods, so one object serves all attempts, sizes and places of a job.
//
// Thread safety: pure functions.
#pragma once

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/pod_manifest.h"
#include "pkg/api/training_job.h"

namespace yardmaster::op {

nlohmann::json BuildComputeDomain(const api::TrainingJob& job);
// Adds the claim to the pod and to each of its containers.
void AddChannelClaim(const api::TrainingJob& job, api::PodManifest& pod);

}  // namespace yardmaster::op
