#include "pkg/operator/network/pods_by_gang.h"

#include <vector>

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

std::optional<api::Membership> MembershipBehindGate(const api::Pod& pod) {
  const bool counts = pod.gated() && !pod.finished() && !pod.metadata.deleted_ms &&
                      pod.metadata.controller() != nullptr && api::WantsGang(pod);
  if (!counts) return std::nullopt;
  auto member = api::ResolveMembership(pod);
  return member.ok() ? *std::move(member) : std::nullopt;
}

NamespacedName GangOf(const api::Pod& pod, const api::Membership& member) {
  return {pod.metadata.namespace_name, member.gang_name};
}

std::optional<int> RankIn(const api::Gang& gang, const api::Membership& member) {
  if (!gang.status.committed() || !api::IsOfOwner(gang, member.owner.uid, member.root.uid)) {
    return std::nullopt;
  }
  const std::optional<int> rank = api::RankOf(gang.rank_bases, member);
  return rank && *rank >= 0 && *rank < gang.placed_workers() ? rank : std::nullopt;
}

}  // namespace

PodsByGang IndexPods(const state::ObjectTable<api::Pod>& pods,
                     const state::ObjectTable<api::Gang>& gangs) {
  PodsByGang index;
  std::vector<std::shared_ptr<const api::Pod>> behind_gate;
  for (const auto& pod : pods) {
    if (pod->finished() || pod->metadata.deleted_ms) continue;
    const auto text = api::Find(pod->metadata.annotations, api::kSlotAnnotation);
    if (!text) {
      if (pod->gated()) behind_gate.push_back(pod);
      continue;
    }
    const auto slot = api::DecodeSlot(*text);
    if (slot.ok()) index[StrCat(pod->metadata.namespace_name, "/", slot->gang)][slot->rank] = pod;
  }
  for (const auto& pod : behind_gate) {
    const auto member = MembershipBehindGate(*pod);
    if (!member) continue;
    const NamespacedName key = GangOf(*pod, *member);
    const auto gang = gangs.Find(key);
    if (gang == nullptr) continue;
    const auto rank = RankIn(*gang, *member);
    if (rank) index[key.text()].emplace(*rank, pod);
  }
  return index;
}

std::optional<NamespacedName> GangBehindGate(const api::Pod& pod) {
  const auto member = MembershipBehindGate(pod);
  return member ? std::optional(GangOf(pod, *member)) : std::nullopt;
}

bool WaitsForPlan(const api::Pod& pod, const api::Gang& gang) {
  if (api::Find(pod.metadata.annotations, api::kNetworkGenerationAnnotation)) return false;
  const auto member = MembershipBehindGate(pod);
  return member && RankIn(gang, *member).has_value();
}

}  // namespace yardmaster::op
