// Keeps a gang on hosts of one GPU model: collectives run at the pace of the slowest GPU.
//
// A host without GPUs is of no model and never in the way. Hosts whose model is not stated share the
// model "". A job with `mixed_gpu_models` is not restricted. Complexity: O(hosts).
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"

namespace yardmaster::placement {

// The models of `hosts`, as indexes into Cluster::gpu_models, ascending, each once. Invalid host ids
// are skipped.
std::vector<std::uint8_t> GpuModelsOf(const Cluster& cluster,
                                      const std::vector<fabric::HostId>& hosts);
// The models of all hosts that `request` allows.
std::vector<std::uint8_t> AllowedGpuModels(const Cluster& cluster, const GangRequest& request);
// By HostId: 1 where `request` allows the host and it is of `model` or has no GPUs.
std::vector<std::uint8_t> HostsOfModel(const Cluster& cluster, const GangRequest& request,
                                       std::uint8_t model);
// What ranks that join a gang on `hosts` may use, as HostsOfModel. nullopt: the request as it is,
// because the job may mix models, or `hosts` have none or several already.
std::optional<std::vector<std::uint8_t>> HostsLikeThoseOf(const Cluster& cluster,
                                                          const GangRequest& request,
                                                          const std::vector<fabric::HostId>& hosts);
// The name of a model, or "no stated model". REQUIRES: cluster.gpu_models.
std::string ShownGpuModel(const Cluster& cluster, std::uint8_t model);
// "NVIDIA-H100 (150 hosts), NVIDIA-A100 (20 hosts)", most hosts first, then by name; of all hosts
// with GPUs, or of those that `request` allows.
std::string GpuModelCounts(const Cluster& cluster, const GangRequest* request = nullptr);
bool HasGpuModel(const Cluster& cluster, const std::string& model);

}  // namespace yardmaster::placement
