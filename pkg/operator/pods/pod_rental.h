// Adds to the pods of a TrainingJob what rented hosts require: node affinity to the hosts' labels,
// tolerations of the taint of rented hosts, and the reservation of a ProvisioningRequest.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "pkg/api/pod_manifest.h"
#include "pkg/api/training_job.h"

namespace yardmaster::op {

// On pods of a job whose hosts came by one ProvisioningRequest: Cluster Autoscaler's reservation.
inline constexpr char kConsumeAnnotation[] = "autoscaling.x-k8s.io/consume-provisioning-request";

std::string RequestName(const std::string& job, std::int64_t generation, int request);

// Does not change the pod if the job has no rental.
void AddRental(const api::TrainingJob& job, api::PodManifest& pod);

}  // namespace yardmaster::op
