// Adds to a TrainingJob's pod what it needs for checkpoints:
//
//   YARDMASTER_CHECKPOINT_DIR       spec.checkpoint.directory; if a claim is given, its volume is
//                                   mounted there
//   YARDMASTER_CHECKPOINT_REQUEST   with request Annotation: a file with the time of the last
//                                   request for a checkpoint; empty: none was made
//   YARDMASTER_CHECKPOINT_MARK      with mark File: a file in a volume of the pod, into which the
//                                   program writes that a checkpoint is complete; the node's agent
//                                   reads it
//
// With request Command the command becomes the preStop hook of a worker's first container: the
// kubelet runs it before SIGTERM, within the pod's grace period, each time the pod is deleted or
// evicted.
//
// The request file follows the annotation yardmaster.dev/checkpoint-request by a downward-API
// volume. A variable or mount that the container already has is kept.
//
// Thread safety: pure functions.
#pragma once

#include "pkg/api/pod_manifest.h"
#include "pkg/api/training_job.h"

namespace yardmaster::op {

inline constexpr char kCheckpointFolder[] = "/etc/yardmaster/checkpoint";

// Adds the variables and files to all containers and init containers of `pod`, as `policy` says.
void AddCheckpointEnvironment(const api::CheckpointPolicy& policy, api::PodManifest& pod);

// Adds the preStop hook to a worker. A hook of the template is kept.
void AddCheckpointHook(const api::CheckpointPolicy& policy, api::PodManifest& pod);

}  // namespace yardmaster::op
