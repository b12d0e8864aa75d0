// A TrainingJob's pods and Service, as the operator creates them. Pure: object in, objects out.
//
// Worker `rank` is the pod "<job>-<rank>" behind the gate yardmaster.dev/placement, with the job as
// its controller, a stable host name in the headless Service "<job>", the GPUs it asks for, and the
// environment that launchers expect:
//   MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE      one process per worker, or a launcher of its
//   own PET_NNODES, PET_NPROC_PER_NODE, PET_NODE_RANK, PET_MASTER_ADDR, PET_MASTER_PORT torchrun
// and the files of its network plan (pod_network.h).
// Its grace period is the job's checkpoint.graceSeconds: whoever ends it, it has SIGTERM and that
// time to write a checkpoint. What the template sets itself is kept. Labels and annotations of the
// template are carried over.
//
// Pods with hostNetwork get dnsPolicy ClusterFirstWithHostNet, without which they cannot resolve
// MASTER_ADDR.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "nlohmann/json_fwd.hpp"

namespace yardmaster::op {

inline constexpr int kMasterPort = 29500;

struct WorkerShape {
  int workers = 1;
  int gpus_per_worker = 8;
  std::string gpu_resource = "nvidia.com/gpu";  // what gpus_per_worker counts
  std::int64_t attempt = 0;                     // kept in the annotation yardmaster.dev/attempt
};

// Where rank 0 listens: kMasterPort, or with hostNetwork a port from 20000 to 29999 that follows
// from the job's uid, so that two jobs on one host do not meet.
int MasterPort(const nlohmann::json& training_job);

std::string PodName(const std::string& job, int rank);

// `training_job` as the API server returns it (apiVersion, kind, metadata.uid, spec.template).
nlohmann::json BuildPod(const nlohmann::json& training_job, const WorkerShape& shape, int rank);
nlohmann::json BuildService(const nlohmann::json& training_job);

// An owner reference (controller, blockOwnerDeletion) to `owner`.
nlohmann::json ControllerReference(const nlohmann::json& owner);

}  // namespace yardmaster::op
