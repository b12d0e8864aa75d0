// Keeps a gang on hosts of one GPU model: collectives run at the pace of the slowest GPU.
//
// A host without GPUs is of no model, and so is the host of a worker that asks for none. Hosts
// whose model is not stated share the model "". A job with `mixed_gpu_models` is not restricted. A
// gang that has to be planned on one model has its workers without GPUs there, too. Complexity:
// O(hosts). Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"

namespace yardmaster::placement {

// The models of the hosts of a job's workers with GPUs, as indexes into Cluster::gpu_models,
// ascending, each once. Workers without a valid host are skipped.
std::vector<std::uint8_t> GpuModelsOf(const Cluster& cluster, const workload::Job& job,
                                      const std::vector<fabric::HostId>& host_of_rank);
// The models of all hosts that `request` allows.
std::vector<std::uint8_t> AllowedGpuModels(const Cluster& cluster, const GangRequest& request);
// By HostId: 1 where `request` allows the host and it is of `model` or has no GPUs.
std::vector<std::uint8_t> HostsOfModel(const Cluster& cluster, const GangRequest& request,
                                       std::uint8_t model);
// What `ranks` of a placed gang may use when they get hosts, as HostsOfModel: the model of the
// other ranks, or the one that they leave where no other has GPUs. nullopt: the request as it is,
// because the job may mix models, or the gang has none or several already.
std::optional<std::vector<std::uint8_t>> HostsForRanks(
    const Cluster& cluster, const GangRequest& request,
    const std::vector<fabric::HostId>& host_of_rank, const std::vector<int>& ranks);
// The name of a model, or "no stated model". REQUIRES: cluster.gpu_models.
std::string ShownGpuModel(const Cluster& cluster, std::uint8_t model);
// "NVIDIA-H100 (150 hosts), NVIDIA-A100 (20 hosts)", most hosts first, then by name; of all hosts
// with GPUs, or of those that `request` allows.
std::string GpuModelCounts(const Cluster& cluster, const GangRequest* request = nullptr);
bool HasGpuModel(const Cluster& cluster, const std::string& model);

}  // namespace yardmaster::placement
