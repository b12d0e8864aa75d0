#include "pkg/operator/network/planned_ranks.h"

#include <utility>

namespace yardmaster::op {

bool PlannedRanks::Set(const api::Gang& gang, std::set<int> ranks, AnnotationsOf annotations_of) {
  const MutexLock lock(mutex_);
  Planned& planned = gangs_[KeyOf(gang.metadata)];
  const bool fresh =
      planned.uid != gang.metadata.uid || planned.plan_generation != gang.status.plan_generation;
  planned = {gang.metadata.uid, gang.status.plan_generation, std::move(ranks),
             std::move(annotations_of)};
  return fresh;
}

void PlannedRanks::KeepOnly(const std::set<NamespacedName>& gangs) {
  const MutexLock lock(mutex_);
  std::erase_if(gangs_, [&](const auto& known) { return gangs.count(known.first) == 0; });
}

PlannedRanks::AnnotationsOf PlannedRanks::Look(const api::Gang& gang, int rank) const {
  const MutexLock lock(mutex_);
  const auto at = gangs_.find(KeyOf(gang.metadata));
  if (at == gangs_.end() || at->second.uid != gang.metadata.uid ||
      at->second.plan_generation != gang.status.plan_generation ||
      at->second.ranks.count(rank) == 0) {
    return nullptr;
  }
  return at->second.annotations_of;
}

std::optional<Annotations> PlannedRanks::Find(const api::Gang& gang, int rank) const {
  const AnnotationsOf annotations_of = Look(gang, rank);
  return annotations_of ? annotations_of(rank) : std::nullopt;
}

bool PlannedRanks::Has(const api::Gang& gang, int rank) const {
  return Look(gang, rank) != nullptr;
}

}  // namespace yardmaster::op
