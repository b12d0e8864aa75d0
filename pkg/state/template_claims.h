// What the resource claims of a pod template ask for, before any pod has them.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/pod.h"
#include "pkg/api/pod_template.h"
#include "pkg/state/device_tables.h"

namespace yardmaster::state {

std::vector<api::ClaimOfPod> ClaimsOf(const api::PodTemplate& pod_template);

// Whether claims in the namespace ask for GPUs: for `gpu_resource` or what else is known to be one.
// True as well where a class or template does not exist yet, because then the claims may ask for
// GPUs.
bool AskForGpus(const std::vector<api::ClaimOfPod>& claims, const std::string& namespace_name,
                const DeviceTables& tables, const std::string& gpu_resource);
// Whether they are known to ask for a channel of a ComputeDomain (api/compute_domain.h).
bool AskForChannel(const std::vector<api::ClaimOfPod>& claims, const std::string& namespace_name,
                   const DeviceTables& tables);

}  // namespace yardmaster::state
