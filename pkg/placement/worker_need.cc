#include "pkg/placement/worker_need.h"

#include <algorithm>

namespace yardmaster::placement {

WorkerNeed::WorkerNeed(const Cluster& cluster, int gpus, const workload::ResourceList& requests)
    : gpus_(gpus) {
  if (cluster.resources.names == nullptr) return;
  const std::vector<std::string>& names = *cluster.resources.names;
  for (const workload::ResourceAmount& request : requests) {
    const auto at = std::lower_bound(names.begin(), names.end(), request.name);
    if (at == names.end() || *at != request.name || request.amount <= 0) continue;
    amounts_.push_back({static_cast<std::size_t>(at - names.begin()), request.amount});
  }
}

int WorkerNeed::RoomByAmounts(const Cluster& cluster, fabric::HostId host, bool empty,
                              int at_most) const {
  const auto& have = empty ? *cluster.resources.allocatable : cluster.resources.free;
  const std::size_t row = host.index() * cluster.resources.columns();
  std::int64_t room = at_most;
  for (const Amount& need : amounts_) {
    room = std::min(room, have[row + need.column] / need.amount);
  }
  return static_cast<int>(std::max<std::int64_t>(0, room));
}

std::optional<WorkerNeed::Amount> WorkerNeed::ShortOf(const Cluster& cluster, fabric::HostId host,
                                                      bool empty) const {
  const std::size_t row = host.index() * cluster.resources.columns();
  for (const Amount& need : amounts_) {
    const auto& have = empty ? *cluster.resources.allocatable : cluster.resources.free;
    if (have[row + need.column] < need.amount) return need;
  }
  return std::nullopt;
}

void WorkerNeed::Take(Cluster& cluster, fabric::HostId host) const {
  cluster.hosts[host.index()].free_gpus -= static_cast<std::int16_t>(gpus_);
  const std::size_t row = host.index() * cluster.resources.columns();
  for (const Amount& need : amounts_) cluster.resources.free[row + need.column] -= need.amount;
}

void WorkerNeed::Give(Cluster& cluster, fabric::HostId host) const {
  HostState& state = cluster.hosts[host.index()];
  state.free_gpus = static_cast<std::int16_t>(std::min<int>(state.gpus, state.free_gpus + gpus_));
  const std::size_t row = host.index() * cluster.resources.columns();
  for (const Amount& need : amounts_) {
    std::int64_t& free = cluster.resources.free[row + need.column];
    free = std::min((*cluster.resources.allocatable)[row + need.column], free + need.amount);
  }
}

NeedsByRank::NeedsByRank(const Cluster& cluster, const workload::Job& job) {
  if (job.roles.empty()) needs_.emplace_back(cluster, job);
  for (const workload::Role& role : job.roles) {
    first_ranks_.push_back(role.first_rank);
    needs_.emplace_back(cluster, job.HostGpusOf(role.first_rank), role.requests);
  }
}

const WorkerNeed& NeedsByRank::of(int rank) const {
  const auto after = std::upper_bound(first_ranks_.begin(), first_ranks_.end(), rank);
  const auto role = after == first_ranks_.begin() ? 0 : after - first_ranks_.begin() - 1;
  return needs_[static_cast<std::size_t>(role)];
}

void EmptyHost(Cluster& cluster, fabric::HostId host) {
  HostState& state = cluster.hosts[host.index()];
  state.free_gpus = state.gpus;
  const std::size_t columns = cluster.resources.columns();
  for (std::size_t i = host.index() * columns; i < (host.index() + 1) * columns; ++i) {
    cluster.resources.free[i] = (*cluster.resources.allocatable)[i];
  }
}

void MoveOccupation(Cluster& cluster, const workload::Job& job,
                    const std::vector<fabric::HostId>& before,
                    const std::vector<fabric::HostId>& after) {
  const NeedsByRank needs(cluster, job);
  for (std::size_t rank = 0; rank < std::max(before.size(), after.size()); ++rank) {
    const fabric::HostId old = rank < before.size() ? before[rank] : fabric::HostId();
    const fabric::HostId now = rank < after.size() ? after[rank] : fabric::HostId();
    if (old == now) continue;
    const WorkerNeed& need = needs.of(static_cast<int>(rank));
    if (old.valid()) need.Give(cluster, old);
    if (now.valid()) need.Take(cluster, now);
  }
}

void ReleaseHosts(Cluster& cluster, const workload::Job& job,
                  const std::vector<fabric::HostId>& host_of_rank) {
  MoveOccupation(cluster, job, host_of_rank, {});
}

}  // namespace yardmaster::placement
