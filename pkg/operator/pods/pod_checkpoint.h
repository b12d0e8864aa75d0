// What a TrainingJob's pod needs for its checkpoints:
//
//   YARDMASTER_CHECKPOINT_DIR       spec.checkpoint.directory; with a claim, its volume is mounted
//                                   there
//   YARDMASTER_CHECKPOINT_REQUEST   with request Annotation: a file that holds the time of the last
//                                   request for a checkpoint; empty: none was made
//   YARDMASTER_CHECKPOINT_MARK      with mark File: a file in a volume of the pod, in which the
//                                   program says that a checkpoint is complete; the node's agent
//                                   reads it
//
// With request Command the command is the preStop hook of a worker's first container: kubelets run
// it in the container before SIGTERM, within the pod's grace period, each time the pod is deleted
// or evicted.
//
// The file follows the annotation yardmaster.dev/checkpoint-request by a downward-API volume. A
// variable or a mount at that path that a container has itself stays as it is.
//
// Thread safety: pure function.
#pragma once

#include "pkg/api/pod_manifest.h"
#include "pkg/api/training_job.h"

namespace yardmaster::op {

inline constexpr char kCheckpointFolder[] = "/etc/yardmaster/checkpoint";

// Adds them to all containers and init containers of `pod`, as `policy` says.
void AddCheckpointEnvironment(const api::CheckpointPolicy& policy, api::PodManifest& pod);

// Of a worker. A hook that the template has itself stays.
void AddCheckpointHook(const api::CheckpointPolicy& policy, api::PodManifest& pod);

}  // namespace yardmaster::op
