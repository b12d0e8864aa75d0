#include "pkg/placement/replacement_hosts.h"

#include <algorithm>
#include <tuple>

namespace yardmaster::placement {

using fabric::HostId;

void ReplacementHosts::Presume(int rank, HostId near) {
  gone_.insert(rank);
  old_[rank] = now_.host_of[static_cast<std::size_t>(rank)] = near;
}

bool ReplacementHosts::AllLost(const Ranks& ranks) const {
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return IsLost(rank); });
}

Ranks ReplacementHosts::lost() const {
  Ranks lost;
  for (const auto& [rank, host] : old_) lost.push_back(rank);
  return lost;
}

HostId ReplacementHosts::Find(const HostRange& hosts, bool backup, const Ranks& ranks) const {
  std::optional<std::tuple<int, int, HostId>> best;
  for (HostId id : hosts) {
    if (!Takes(id, backup, ranks)) continue;
    const std::optional<int> free = FreeGpusFor(id, ranks);
    if (!free) continue;
    const std::tuple key{cluster_.hosts[id.index()].degraded, *free, id};
    if (!best || key < *best) best = key;
  }
  return best ? std::get<HostId>(*best) : HostId();
}

bool ReplacementHosts::Takes(HostId id, bool backup, const Ranks& ranks) const {
  const HostState& host = cluster_.hosts[id.index()];
  if (host.backup != backup || host.unavailable != Unavailability::kNo) return false;
  if (host.reserved_for >= 0 && host.reserved_for != request_.queue_index) return false;
  const bool allowed = std::all_of(ranks.begin(), ranks.end(),
                                   [&](int rank) { return request_.AllowsRank(id, rank); });
  return allowed && std::none_of(old_.begin(), old_.end(), [&](const auto& entry) {
           return entry.second == id && !IsGone(entry.first);
         });
}

std::optional<int> ReplacementHosts::FreeGpusFor(HostId id, const Ranks& ranks) const {
  static const Ranks kNone;
  const auto taken = now_.taken.find(id);
  const Ranks& given = taken == now_.taken.end() ? kNone : taken->second;
  const WorkerNeed& need = needs_.of(ranks[0]);
  const auto is_alike = [&](int rank) { return &needs_.of(rank) == &need; };
  const int count = static_cast<int>(given.size());
  const int free = cluster_.hosts[id.index()].free_gpus - count * need.gpus();
  if (std::all_of(ranks.begin(), ranks.end(), is_alike) &&
      std::all_of(given.begin(), given.end(), is_alike)) {
    const bool fits = need.RoomOn(cluster_, id) - count >= static_cast<int>(ranks.size());
    return fits ? std::optional<int>(free) : std::nullopt;
  }
  // Rank by rank on a cluster of their own; only gangs of unlike workers come here.
  Cluster cluster = cluster_;
  for (const Ranks* list : {&given, &ranks}) {
    for (int rank : *list) {
      if (needs_.of(rank).RoomOn(cluster, id) < 1) return std::nullopt;
      needs_.of(rank).Take(cluster, id);
    }
  }
  return free;
}

void ReplacementHosts::Give(const Ranks& ranks, HostId host) {
  Ranks& taken = now_.taken[host];
  taken.insert(taken.end(), ranks.begin(), ranks.end());
  for (int rank : ranks) now_.host_of[static_cast<std::size_t>(rank)] = host;
}

void ReplacementHosts::TakeBack(const Ranks& ranks) {
  for (int rank : ranks) {
    // A rank whose host is gone may have taken the one that stands for it.
    if (const auto taken = now_.taken.find(of(rank)); taken != now_.taken.end()) {
      std::erase(taken->second, rank);
    }
    now_.host_of[static_cast<std::size_t>(rank)] = old(rank);
  }
}

}  // namespace yardmaster::placement
