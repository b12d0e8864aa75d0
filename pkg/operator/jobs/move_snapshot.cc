#include "pkg/operator/jobs/move_snapshot.h"

#include <string>
#include <utility>
#include <vector>

#include "pkg/api/names.h"
#include "pkg/operator/network/pods_by_gang.h"
#include "pkg/operator/network/reported_profiles.h"
#include "pkg/operator/telemetry/network_faults.h"
#include "pkg/state/snapshot_builder.h"
#include "pkg/state/used_fabric.h"

namespace yardmaster::op {

namespace {

bool WantsHosts(const api::TrainingJob& job) {
  const api::TrainingJobStatus& status = job.status;
  const bool is_ours = job.run.managed_by.empty() || job.run.managed_by == api::kManagedByOperator;
  return is_ours && !job.metadata.deleted_ms && !status.ended() && !job.run.suspended &&
         !status.recovery.suspended && !status.queue.holds_job() && !status.capacity.holds_job();
}

// It waits, and the extender has looked for a place, found none, and does not expect one soon.
bool DoesNotFit(const api::Gang& gang) {
  const api::GangStatus& status = gang.status;
  const api::Condition* planned = api::FindCondition(status.conditions, api::kPlannedCondition);
  return planned != nullptr && planned->status == api::ConditionStatus::kFalse &&
         planned->reason == placement::Name(placement::Outcome::kNotNow) && !status.preemption &&
         !api::IsTrue(status.conditions, api::kAwaitsHostsCondition);
}

void AddMeasurements(const state::ClusterState& cluster, plan::Snapshot& snapshot) {
  if (snapshot.network == nullptr) return;
  // What it cannot read the network controller reports.
  MarkDownLinks(*state::UsedFabric(cluster.fabrics), *snapshot.network, snapshot.cable_down);
  ApplyReportedProfiles(IndexPods(cluster.pods, cluster.gangs), snapshot);
}

}  // namespace

int EraseJobsWithoutHosts(state::ClusterState& cluster,
                          const std::function<bool(const api::TrainingJob&)>& wants_none) {
  std::vector<std::pair<NamespacedName, NamespacedName>> idle;  // job, gang
  for (const auto& job : cluster.jobs) {
    if (!wants_none(*job)) continue;
    const NamespacedName gang_key{job->metadata.namespace_name,
                                  api::GangName(api::kTrainingJobKind, job->metadata.name)};
    const auto gang = cluster.gangs.Find(gang_key);
    if (gang == nullptr || gang->status.assignments.empty()) {
      idle.emplace_back(KeyOf(job->metadata), gang_key);
    }
  }
  for (const auto& [job, gang] : idle) {
    cluster.jobs.Erase(job);
    cluster.gangs.Erase(gang);
  }
  return static_cast<int>(idle.size());
}

state::ClusterState WithoutIdleJobs(state::ClusterState cluster) {
  EraseJobsWithoutHosts(cluster, [](const api::TrainingJob& job) { return !WantsHosts(job); });
  return cluster;
}

void MoveOthersForThoseThatDoNotFit(const state::ObjectTable<api::Gang>& gangs,
                                    plan::Snapshot& snapshot) {
  for (plan::JobState& job : snapshot.jobs) {
    if (job.assignment) continue;
    const auto gang = gangs.Find(job.job.key);
    job.may_stop_others = gang != nullptr && DoesNotFit(*gang);
  }
}

plan::Snapshot MoveSnapshot(const state::ClusterState& cluster, std::int64_t now_ms) {
  const state::ClusterState active = WithoutIdleJobs(cluster);
  plan::Snapshot snapshot = state::BuildSnapshot(active);
  snapshot.now_ms = now_ms;
  MoveOthersForThoseThatDoNotFit(active.gangs, snapshot);
  AddMeasurements(active, snapshot);
  return snapshot;
}

}  // namespace yardmaster::op
