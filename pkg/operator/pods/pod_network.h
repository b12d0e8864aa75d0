// Adds to a TrainingJob's pod what it needs to find its network plan: a downward-API volume with
// the annotations as files, and the environment variables that name them.
//
//   /etc/yardmaster/network/nccl.conf         NCCL's configuration, VAR=VALUE     NCCL_CONF_FILE
//   /etc/yardmaster/network/path-plan.json    the path plan                       YARDMASTER_PLAN
//   /etc/yardmaster/network/network-priority  the level
//
// The files are empty until the annotations are written, and follow them. A variable that a
// container sets itself is kept; the pod's annotation yardmaster.dev/kept-environment lists such
// variables.
//
// Thread safety: pure functions.
#pragma once

#include "pkg/api/pod_manifest.h"

namespace yardmaster::op {

inline constexpr char kNetworkVolume[] = "yardmaster-network";
inline constexpr char kNetworkFolder[] = "/etc/yardmaster/network";

// Adds volume and variables to all containers and init containers of `pod`. A pod that has a volume
// of that name already is not changed.
void AddNetworkEnvironment(api::PodManifest& pod);

}  // namespace yardmaster::op
