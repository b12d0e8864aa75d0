#include "pkg/operator/network/pod_release.h"

#include <cstddef>

#include "pkg/api/names.h"
#include "pkg/state/release_rule.h"

namespace yardmaster::op {

namespace {

bool MayStart(const api::Gang& gang, const std::set<std::string>& stopped) {
  const api::GangStatus& status = gang.status;
  return gang.problems.empty() && !gang.metadata.deleted_ms && state::HoldsHosts(status) &&
         !status.preemption && stopped.count(gang.metadata.uid) == 0 &&
         !api::IsTrue(status.conditions, api::kPreemptedCondition) &&
         gang.placed_workers() == gang.job.workers;
}

bool IsWhole(const api::Gang& gang, const std::map<int, std::shared_ptr<const api::Pod>>& pods) {
  const int workers = gang.placed_workers();
  return static_cast<int>(pods.size()) == workers && pods.begin()->first == 0 &&
         pods.rbegin()->first == workers - 1;
}

// A slot on a pod behind the gate is of a place that the gang had before.
bool IsForTheExtender(const api::Pod& pod) {
  return pod.gated_by_others() || api::Find(pod.metadata.annotations, api::kSlotAnnotation);
}

}  // namespace

std::set<std::string> StoppedGangs(const state::ObjectTable<api::Gang>& gangs) {
  std::set<std::string> stopped;
  for (const auto& gang : gangs) {
    if (!gang->status.preemption) continue;
    for (const api::VictimReference& victim : gang->status.preemption->victims) {
      stopped.insert(victim.uid);
    }
  }
  return stopped;
}

std::map<int, PlannedRelease> ReleasesOf(const api::Gang& gang,
                                         const std::map<int, std::shared_ptr<const api::Pod>>& pods,
                                         const std::set<std::string>& stopped,
                                         const plan::Snapshot& snapshot) {
  if (!MayStart(gang, stopped) || !state::SpansHosts(gang.status) || !IsWhole(gang, pods)) {
    return {};
  }
  std::map<int, PlannedRelease> releases;
  for (const auto& [rank, pod] : pods) {
    if (!pod->gated()) continue;
    const placement::HostState* host = state::ReleaseHost(gang.status, rank, snapshot);
    if (host == nullptr || IsForTheExtender(*pod)) return {};
    const api::AssignmentEntry& slot = gang.status.assignments[static_cast<std::size_t>(rank)];
    releases[rank] = {api::PinOf(*pod, gang.metadata.name, slot, host->backup),
                      KeyOf(gang.metadata), gang.metadata.uid, gang.status.plan_generation};
  }
  return releases;
}

bool StillHolds(const PlannedRelease& release, const api::Gang* gang) {
  return gang != nullptr && gang->metadata.uid == release.gang_uid && !gang->metadata.deleted_ms &&
         gang->status.plan_generation == release.plan_generation &&
         state::HoldsHosts(gang->status) &&
         !api::IsTrue(gang->status.conditions, api::kPreemptedCondition);
}

}  // namespace yardmaster::op
