#include "pkg/placement/gpu_models.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::placement {

namespace {

using fabric::HostId;

std::vector<std::uint8_t> Sorted(const std::set<std::uint8_t>& models) {
  return {models.begin(), models.end()};
}

bool MayMix(const Cluster& cluster, const GangRequest& request) {
  return request.job->mixed_gpu_models || cluster.num_gpu_models() < 2;
}

}  // namespace

std::vector<std::uint8_t> GpuModelsOf(const Cluster& cluster, const workload::Job& job,
                                      const std::vector<HostId>& host_of_rank) {
  std::set<std::uint8_t> models;
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank) {
    const HostId id = host_of_rank[rank];
    if (!id.valid() || id.index() >= cluster.hosts.size()) continue;
    const HostState& host = cluster.hosts[id.index()];
    if (host.gpus > 0 && job.GpusOf(static_cast<int>(rank)) > 0) models.insert(host.gpu_model);
  }
  return Sorted(models);
}

std::vector<std::uint8_t> AllowedGpuModels(const Cluster& cluster, const GangRequest& request) {
  std::set<std::uint8_t> models;
  for (const HostId id : cluster.places->hosts()) {
    const HostState& host = cluster.hosts[id.index()];
    if (host.gpus > 0 && request.Allows(id)) models.insert(host.gpu_model);
  }
  return Sorted(models);
}

std::vector<std::uint8_t> HostsOfModel(const Cluster& cluster, const GangRequest& request,
                                       std::uint8_t model) {
  std::vector<std::uint8_t> allowed;
  allowed.reserve(cluster.hosts.size());
  for (const HostId id : cluster.places->hosts()) {
    const HostState& host = cluster.hosts[id.index()];
    const bool same = host.gpus == 0 || host.gpu_model == model;
    allowed.push_back(same && request.Allows(id) ? 1 : 0);
  }
  return allowed;
}

std::optional<std::vector<std::uint8_t>> HostsForRanks(const Cluster& cluster,
                                                       const GangRequest& request,
                                                       const std::vector<HostId>& host_of_rank,
                                                       const std::vector<int>& ranks) {
  if (MayMix(cluster, request)) return std::nullopt;
  std::vector<HostId> others = host_of_rank;
  for (const int rank : ranks) {
    const auto index = static_cast<std::size_t>(rank);
    if (rank >= 0 && index < others.size()) others[index] = HostId();
  }
  std::vector<std::uint8_t> models = GpuModelsOf(cluster, *request.job, others);
  if (models.empty()) models = GpuModelsOf(cluster, *request.job, host_of_rank);
  if (models.size() != 1) return std::nullopt;
  return HostsOfModel(cluster, request, models.front());
}

std::string ShownGpuModel(const Cluster& cluster, std::uint8_t model) {
  const std::string& name = (*cluster.gpu_models)[model];
  return name.empty() ? "no stated model" : name;
}

std::string GpuModelCounts(const Cluster& cluster, const GangRequest* request) {
  if (cluster.gpu_models == nullptr) return "";
  std::vector<std::int64_t> hosts(cluster.gpu_models->size(), 0);
  for (const HostId id : cluster.places->hosts()) {
    const HostState& host = cluster.hosts[id.index()];
    if (host.gpus == 0 || (request != nullptr && !request->Allows(id))) continue;
    ++hosts[host.gpu_model];
  }
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (std::size_t model = 0; model < hosts.size(); ++model) {
    if (hosts[model] == 0) continue;
    order.emplace_back(-hosts[model], ShownGpuModel(cluster, static_cast<std::uint8_t>(model)));
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> shown;
  for (const auto& [count, name] : order) {
    shown.push_back(StrCat(name, " (", Count(-count, "host"), ")"));
  }
  return Join(shown, ", ");
}

bool HasGpuModel(const Cluster& cluster, const std::string& model) {
  if (cluster.gpu_models == nullptr) return false;
  const auto& names = *cluster.gpu_models;
  return std::find(names.begin(), names.end(), model) != names.end();
}

}  // namespace yardmaster::placement
