#include "pkg/operator/network/planned_ranks.h"

#include <utility>

namespace yardmaster::op {

bool PlannedRanks::Set(const api::Gang& gang, std::map<int, Annotations> of_rank) {
  const MutexLock lock(mutex_);
  Planned& planned = gangs_[KeyOf(gang.metadata)];
  const bool fresh =
      planned.uid != gang.metadata.uid || planned.plan_generation != gang.status.plan_generation;
  planned = {gang.metadata.uid, gang.status.plan_generation, std::move(of_rank)};
  return fresh;
}

void PlannedRanks::KeepOnly(const std::set<NamespacedName>& gangs) {
  const MutexLock lock(mutex_);
  std::erase_if(gangs_, [&](const auto& known) { return gangs.count(known.first) == 0; });
}

const Annotations* PlannedRanks::Look(const api::Gang& gang, int rank) const {
  const auto at = gangs_.find(KeyOf(gang.metadata));
  if (at == gangs_.end() || at->second.uid != gang.metadata.uid ||
      at->second.plan_generation != gang.status.plan_generation) {
    return nullptr;
  }
  const auto of_rank = at->second.of_rank.find(rank);
  return of_rank == at->second.of_rank.end() ? nullptr : &of_rank->second;
}

std::optional<Annotations> PlannedRanks::Find(const api::Gang& gang, int rank) const {
  const MutexLock lock(mutex_);
  const Annotations* const planned = Look(gang, rank);
  return planned == nullptr ? std::nullopt : std::optional(*planned);
}

bool PlannedRanks::Has(const api::Gang& gang, int rank) const {
  const MutexLock lock(mutex_);
  return Look(gang, rank) != nullptr;
}

}  // namespace yardmaster::op
