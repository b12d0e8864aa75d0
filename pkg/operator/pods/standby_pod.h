// Builds the pod that pulls the images of a job's workers on one host in advance (api/standby.h).
//
//   - It has a container for each image of the worker's template, with the template's pull policy,
//     pull secrets and service account.
//   - It is pinned to the host and has the tolerations of a worker there.
//   - The rest of the template is omitted: volumes, environment, resources, host network. It
//     requests nothing of the host, so that a worker fits beside it.
//   - Each container sleeps, so that the kubelet does not collect its image. If an image has no
//     such program, the container fails to start once, and its remains keep the image as well.
//   - It meets the Pod Security Standard Restricted, whatever the template does.
//
// The name is derived from the job's uid, the host and the contents: two processes that want the
// same pod create one, and a pod with other contents has another name.
//
// Thread safety: pure function.
#pragma once

#include <string>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/training_job.h"

namespace yardmaster::op {

nlohmann::json BuildStandbyPod(const api::TrainingJob& job, const std::string& host);

}  // namespace yardmaster::op
