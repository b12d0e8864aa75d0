// Expands a workload into the pods that its controller would create, for `plan`, which has no
// controllers. A Job, JobSet, LeaderWorkerSet, MPIJob, PyTorchJob (and similar), TrainJob or
// Volcano Job becomes pods with the labels, annotations and owner that its controller would set. So
// they are gathered and ranked by the same table as in a cluster (api/rank_resolver.h).
//
//   - Only workloads are expanded whose pod template wants a gang (the annotation
//     yardmaster.dev/parallelism, or Yardmaster's scheduling gate) and requests GPUs; others on
//     request.
//   - Pods without GPUs, such as MPI's launcher, are left out, unless their kind numbers them with
//     the workers.
//   - A TrainJob's pods are derived from spec.trainer only; its runtime is not read.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace yardmaster::cli {

// Whether objects of this kind can be expanded.
bool IsWorkload(std::string_view api_version, std::string_view kind);

// Returns the pods; empty if the workload does not want a gang, or is suspended, deleted or has
// ended. `as_if_annotated`: expand it as if it had the annotation, unless its pods have no index.
// Errors: InvalidArgument, with the field. REQUIRES: IsWorkload.
absl::StatusOr<std::vector<nlohmann::json>> PodsOfWorkload(const nlohmann::json& object,
                                                           bool as_if_annotated = false);

}  // namespace yardmaster::cli
