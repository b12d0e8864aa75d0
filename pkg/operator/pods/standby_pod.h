// The pod that has the images of a job's workers pulled on one host (api/standby.h).
//
// It has a container for each image of the worker's template, with the template's pull policy, pull
// secrets and service account, and is pinned to the host, whose taints it tolerates as a worker
// does. All the rest of the template is left out: volumes, environment, resources, host network. It
// asks for nothing of the host, so that a worker fits beside it. Each container sleeps, so that the
// kubelet does not collect its image; in an image without a program of that name it fails to
// start, once, and what is left of it keeps the image as well. It meets the Pod Security Standard
// Restricted, whatever the template does.
//
// Its name follows from the job's uid, the host and its contents: two processes that want the same
// pod make one, and a pod that is to be another one has another name.
//
// Thread safety: pure function.
#pragma once

#include <string>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/training_job.h"

namespace yardmaster::op {

nlohmann::json BuildStandbyPod(const api::TrainingJob& job, const std::string& host);

}  // namespace yardmaster::op
