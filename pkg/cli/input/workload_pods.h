// The pods that other controllers would make of a workload, for `plan`, which has no controllers: a
// Job, JobSet, LeaderWorkerSet, MPIJob, PyTorchJob (and its siblings), TrainJob or Volcano Job
// becomes pods with the labels, annotations and owner that its controller would give them, so that
// they are gathered and ranked by the same table as in a cluster (api/rank_resolver.h).
//
// Only workloads whose pod template says that it wants a gang (the annotation
// yardmaster.dev/parallelism, or our scheduling gate) and asks for GPUs are expanded, others on
// request; pods without GPUs, like MPI's launcher, are left out, unless their kind numbers them
// with the workers. A TrainJob's pods come from spec.trainer alone, as its runtime is not read.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace yardmaster::cli {

// Whether there is a row for the object's kind.
bool IsWorkload(std::string_view api_version, std::string_view kind);

// Nothing: the workload does not want a gang, or is suspended, deleted or has ended. Errors:
// InvalidArgument naming the field. `as_if_annotated`: what it would be with the annotation, unless
// its pods have no index. REQUIRES: IsWorkload.
absl::StatusOr<std::vector<nlohmann::json>> PodsOfWorkload(const nlohmann::json& object,
                                                           bool as_if_annotated = false);

}  // namespace yardmaster::cli
