// How a worker's container restarts inside its pod, on the same host, when the operator asks for
// it. Only Kubernetes' own mechanisms are used:
//   - the pod has the annotation yardmaster.dev/restart-generation; a downward-API volume shows it
//     as the file YARDMASTER_RESTART_FILE, and the variable YARDMASTER_RESTART_GENERATION has what
//     it was when the container started;
//   - a liveness probe of the first container compares the two with sh and cat. When the operator
//     raises the annotation the probe fails, and the kubelet ends the container and, since
//     restartPolicy is not Never, starts it again with the new value.
//
// Left as they are, and recreated on a restart: pods whose template has restartPolicy Never, and
// pods whose first container has a liveness probe of its own. Where the template has the
// annotation, that probe is taken to look at the file itself.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/api/pod_manifest.h"

namespace yardmaster::op {

inline constexpr char kRestartFolder[] = "/etc/yardmaster/restart";

// Sets restartPolicy where the template does not: OnFailure for a pod that restarts in place, else
// Never. `wanted`: the job's policy.
void AddRestart(bool wanted, std::int64_t attempt, api::PodManifest& pod);

}  // namespace yardmaster::op
