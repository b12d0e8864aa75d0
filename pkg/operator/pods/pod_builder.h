// Builds the pods and the Service of a TrainingJob. They are built from the typed job
// (api/pod_manifest.h), so that no template can make the functions fail.
//
// Worker `rank` is the pod "<job>-<rank>":
//   - it has the gate yardmaster.dev/placement, and the job is its controller;
//   - it has a host name in the headless Service "<job>";
//   - it requests its GPUs, unless its claims do;
//   - its grace period is checkpoint.graceSeconds of the job: whatever ends it, it gets SIGTERM and
//     that time to write a checkpoint;
//   - it has the files of its network plan (pod_network.h) and the environment that launchers
//     expect:
//
//   MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK (0), LOCAL_WORLD_SIZE (1)
//       for one process per worker; a launcher replaces them for its processes
//   PET_NNODES, PET_NPROC_PER_NODE, PET_NODE_RANK, PET_MASTER_ADDR, PET_MASTER_PORT
//       for torchrun. For an elastic job that grows in place PET_NNODES is "smallest:largest", and
//       PET_RDZV_BACKEND (c10d), PET_RDZV_ENDPOINT and PET_RDZV_ID let torchrun accept workers
//   TENSOR_MODEL_PARALLEL_SIZE, PIPELINE_MODEL_PARALLEL_SIZE, CONTEXT_PARALLEL_SIZE,
//   EXPERT_MODEL_PARALLEL_SIZE, DATA_PARALLEL_SIZE
//       named after Megatron's arguments
//   YARDMASTER_DATA_GROUP, YARDMASTER_DATA_GROUPS, YARDMASTER_DATA_GROUP_RANK,
//   YARDMASTER_DATA_GROUP_SIZE, YARDMASTER_DATA_GROUP_ADDR
//       if data groups restart by themselves: the number of the worker's group, the number of
//       groups, the worker's number in its group, the workers of the group, the name of its first
//
// With a place the pod is as the extender would have released it (pkg/api/pin_patch.h): slot, host,
// tolerations of promised and backup hosts, and no gate. What the template sets itself is kept.
// Labels and annotations of the template are copied, except those that only Yardmaster may write.
//
// Containers restart in place if the template allows it (pod_restart.h); otherwise restartPolicy is
// Never. Pods with hostNetwork get dnsPolicy ClusterFirstWithHostNet, without which they cannot
// resolve MASTER_ADDR.
//
// Pod `index` of a role (api/job_role.h) is "<job>-<role>-<index>", built from the role's template.
// It has no gate and no GPUs, the same Service, grace period and checkpoint files, and the
// environment of a process without a rank: MASTER_ADDR, MASTER_PORT, WORLD_SIZE, YARDMASTER_ROLE
// and YARDMASTER_ROLE_INDEX.
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
  std::string gpu_resource = "nvidia.com/gpu";  // the resource that gpus_per_worker counts
  std::int64_t attempt = 0;                     // value of the annotation yardmaster.dev/attempt
  workload::Parallelism parallelism = {};
  std::vector<int> data_groups = {};  // group of each worker, if data groups restart by themselves
  std::string avoid_hosts = {};       // the annotation yardmaster.dev/avoid-hosts; empty: none
  std::string nodes =
      {};  // PET_NNODES of a job that accepts workers while it runs; empty: all of them
  bool restarts_in_place = true;  // if the template allows it (pod_restart.h)
  bool claims_gpus = false;       // the template's claims request them
  bool claims_channel =
      false;  // the pod claims a channel of the job's ComputeDomain (pod_compute_domain.h)
};

// Where a worker that is created after its place is known goes, and what it carries from the start.
struct WorkerPlace {
  std::string host;
  std::string slot;          // the text of yardmaster.dev/slot
  bool backup_host = false;  // the pod has to tolerate the taint of backup hosts
  std::map<std::string, std::string>
      network;  // annotations of level, class and paths; may be empty
};

// Returns the port on which rank 0 listens: status.rendezvousPort, or kMasterPort if it has none.
int MasterPort(const api::TrainingJob& job);

std::string PodName(const std::string& job, int rank);
// Returns the name of the pod of any member (api/job_role.h).
std::string MemberName(const api::TrainingJob& job, int member);

// Adds the GPUs of a worker to its first container, unless a container requests some already.
void AddGpus(const std::string& resource, int gpus, api::PodManifest& pod);
// Builds the pod of a worker: behind the gate if `place` is null; else without the gate and pinned
// to its host.
nlohmann::json BuildPod(const api::TrainingJob& job, const WorkerShape& shape, int rank,
                        const WorkerPlace* place = nullptr);
// REQUIRES: `member` belongs to one of the job's roles.
nlohmann::json BuildRolePod(const api::TrainingJob& job, const WorkerShape& shape, int member);
// Builds the headless Service for the pods whose names other pods resolve (api::PublishedNames).
nlohmann::json BuildService(const api::TrainingJob& job);

// Returns an owner reference (controller, blockOwnerDeletion) to the job.
nlohmann::json ControllerReference(const api::TrainingJob& job);

}  // namespace yardmaster::op
