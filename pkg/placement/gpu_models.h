// Keeps a gang on hosts of one GPU model, because collectives run at the pace of the slowest GPU.
//
// A host without GPUs has no model, nor has the host of a worker that requests none. Hosts without
// a stated model share the model "". A job with `mixed_gpu_models` is not restricted. If a gang is
// planned on one model, its workers without GPUs are placed on hosts of that model or without GPUs.
//
// Complexity: O(hosts). Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"

namespace yardmaster::placement {

// Returns the models of the hosts of a job's workers with GPUs, as indexes into
// Cluster::gpu_models, ascending, without duplicates. Workers without a valid host are skipped.
std::vector<std::uint8_t> GpuModelsOf(const Cluster& cluster, const workload::Job& job,
                                      const std::vector<fabric::HostId>& host_of_rank);
// Returns the models of all hosts that `request` allows.
std::vector<std::uint8_t> AllowedGpuModels(const Cluster& cluster, const GangRequest& request);
// Returns, by HostId, 1 if `request` allows the host and the host is of `model` or has no GPUs.
std::vector<std::uint8_t> HostsOfModel(const Cluster& cluster, const GangRequest& request,
                                       std::uint8_t model);
// Returns the hosts that `ranks` of a placed gang may use, in the form of HostsOfModel: those of
// the model of the other ranks or, if no other rank has GPUs, of the model that they leave.
// nullopt: no restriction, because the job may mix models, or the gang has none or several already.
std::optional<std::vector<std::uint8_t>> HostsForRanks(
    const Cluster& cluster, const GangRequest& request,
    const std::vector<fabric::HostId>& host_of_rank, const std::vector<int>& ranks);
// The name of a model, or "no stated model". REQUIRES: cluster.gpu_models.
std::string ShownGpuModel(const Cluster& cluster, std::uint8_t model);
// For example "NVIDIA-H100 (150 hosts), NVIDIA-A100 (20 hosts)", most hosts first, then by name;
// over all hosts with GPUs, or those that `request` allows.
std::string GpuModelCounts(const Cluster& cluster, const GangRequest* request = nullptr);
bool HasGpuModel(const Cluster& cluster, const std::string& model);

}  // namespace yardmaster::placement
