// A TrainingJob's pods and Service, as the operator creates them. They are made of the typed job
// (api/pod_manifest.h), so that no template can make it fail.
//
// Worker `rank` is the pod "<job>-<rank>" behind the gate yardmaster.dev/placement, with the job as
// its controller, a host name in the headless Service "<job>", the GPUs it asks for unless
// its claims do, and the environment that launchers expect:
//   MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK (0), LOCAL_WORLD_SIZE (1)
//                                   for one process
//   per worker; a launcher replaces them for its processes
//   PET_NNODES, PET_NPROC_PER_NODE, PET_NODE_RANK, PET_MASTER_ADDR, PET_MASTER_PORT
//                                   torchrun; of an
//   elastic job that grows in place PET_NNODES is "smallest:largest", and PET_RDZV_BACKEND (c10d),
//   PET_RDZV_ENDPOINT and PET_RDZV_ID make torchrun take workers in
//   TENSOR_MODEL_PARALLEL_SIZE, PIPELINE_MODEL_PARALLEL_SIZE, CONTEXT_PARALLEL_SIZE,
//   EXPERT_MODEL_PARALLEL_SIZE, DATA_PARALLEL_SIZE   named after Megatron's arguments
//   YARDMASTER_DATA_GROUP, YARDMASTER_DATA_GROUPS, YARDMASTER_DATA_GROUP_RANK,
//   YARDMASTER_DATA_GROUP_SIZE, YARDMASTER_DATA_GROUP_ADDR   where data groups restart by
//   themselves: number of the worker's group, how many there are, the worker's number in it, its
//   workers, and the name of its first
// and the files of its network plan (pod_network.h).
// With a place it is as the extender would have released it (pkg/api/pin_patch.h):
// slot, host, tolerations of promised and backup hosts, and no gate. Its grace period is the job's
// checkpoint.graceSeconds: however it is ended, it gets SIGTERM and that time to write a
// checkpoint. What the template sets itself is kept. Labels and annotations of the template are
// carried over, except those that only Yardmaster may write.
//
// Containers restart in place where the template allows it (pod_restart.h); restartPolicy is Never
// otherwise.
//
// Pods with hostNetwork get dnsPolicy ClusterFirstWithHostNet, without which they cannot resolve
// MASTER_ADDR.
//
// Pod `index` of a role (api/job_role.h) is "<job>-<role>-<index>", made of the role's template,
// without gate and GPUs, with the same Service, grace period and checkpoint files, and the
// environment of a process outside of the ranks: MASTER_ADDR, MASTER_PORT, WORLD_SIZE,
// YARDMASTER_ROLE and YARDMASTER_ROLE_INDEX.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/training_job.h"
#include "pkg/operator/pods/rendezvous_port.h"
#include "pkg/workload/parallelism.h"

namespace yardmaster::op {

struct WorkerShape {
  int workers = 1;
  int gpus_per_worker = 8;
  std::string gpu_resource = "nvidia.com/gpu";  // what gpus_per_worker counts
  std::int64_t attempt = 0;                     // kept in the annotation yardmaster.dev/attempt
  workload::Parallelism parallelism = {};
  std::vector<int> data_groups = {};  // of each worker, where they restart by themselves
  std::string avoid_hosts = {};       // the annotation yardmaster.dev/avoid-hosts; empty: none
  std::string nodes = {};         // PET_NNODES of a job that takes workers in; empty: all of them
  bool restarts_in_place = true;  // where the template allows it (pod_restart.h)
  bool claims_gpus = false;       // the template's claims ask for them
  bool claims_channel = false;    // of the job's ComputeDomain (pod_compute_domain.h)
};

// Where a worker that is made after its place goes, and what it carries from the start.
struct WorkerPlace {
  std::string host;
  std::string slot;                            // the text of yardmaster.dev/slot
  bool backup_host = false;                    // it needs to tolerate the taint of backup hosts
  std::map<std::string, std::string> network;  // annotations: level, class and paths; may be empty
};

// Where rank 0 listens: status.rendezvousPort, or kMasterPort where there is none.
int MasterPort(const api::TrainingJob& job);

std::string PodName(const std::string& job, int rank);
// Of any member (api/job_role.h).
std::string MemberName(const api::TrainingJob& job, int member);

// The GPUs of a worker, in its first container, where none of them asks for any.
void AddGpus(const std::string& resource, int gpus, api::PodManifest& pod);
// `place` null: behind the gate. Else without it, pinned to its host.
nlohmann::json BuildPod(const api::TrainingJob& job, const WorkerShape& shape, int rank,
                        const WorkerPlace* place = nullptr);
// REQUIRES: `member` belongs to one of the job's roles.
nlohmann::json BuildRolePod(const api::TrainingJob& job, const WorkerShape& shape, int member);
// Headless, of the pods whose names others resolve (api::PublishedNames).
nlohmann::json BuildService(const api::TrainingJob& job);

// An owner reference (controller, blockOwnerDeletion) to the job.
nlohmann::json ControllerReference(const api::TrainingJob& job);

}  // namespace yardmaster::op
