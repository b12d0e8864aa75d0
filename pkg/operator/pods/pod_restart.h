// Makes the container of a worker restart inside its pod, on the same host, when the operator
// requests it. Only Kubernetes' own mechanisms are used:
//   - The pod has the annotation yardmaster.dev/restart-generation. A downward-API volume shows it
//     as the file YARDMASTER_RESTART_FILE. The variable YARDMASTER_RESTART_GENERATION has its value
//     from when the container started.
//   - A liveness probe of the first container compares the two with sh and cat. When the operator
//     raises the annotation, the probe fails, and the kubelet stops the container. Because
//     restartPolicy is not Never, the kubelet starts it again, with the new value.
//
// Pods whose template has restartPolicy Never, or whose first container has its own liveness probe,
// are not changed and are recreated on a restart. If the template itself has the annotation, its
// liveness probe is assumed to check the file.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>

#include "pkg/api/pod_manifest.h"

namespace yardmaster::op {

inline constexpr char kRestartFolder[] = "/etc/yardmaster/restart";

// Sets restartPolicy unless the template does: OnFailure for a pod that restarts in place, else
// Never. `wanted`: the job's policy.
void AddRestart(bool wanted, std::int64_t attempt, api::PodManifest& pod);

}  // namespace yardmaster::op
