#include "pkg/plan/plan_draft.h"

#include "pkg/placement/worker_need.h"
#include "pkg/plan/queue.h"

namespace yardmaster::plan {

using fabric::HostId;

placement::GangPlan PlanDraft::Search(JobId job, bool explain) {
  for (const Reservation& reservation : plan.reservations) {
    if (!MayBackfill(snapshot, job, reservation)) continue;
    for (HostId host : reservation.hosts) {
      int& owner = cluster.hosts[host.index()].reserved_for;
      if (owner == reservation.job.value) owner = job.value;
    }
  }
  placement::GangPlan gang = PlanPreferredFirst(job, explain);
  for (const Reservation& reservation : plan.reservations) {
    for (HostId host : reservation.hosts) {
      int& owner = cluster.hosts[host.index()].reserved_for;
      if (owner == job.value) owner = reservation.job.value;
    }
  }
  return gang;
}

placement::GangPlan PlanDraft::PlanPreferredFirst(JobId job, bool explain) const {
  placement::GangRequest request = RequestOf(job);
  placement::PlannerOptions how = options;
  if (state(job).preferred != nullptr) {
    request.eligible = state(job).preferred.get();
    how.explain = false;
    placement::GangPlan gang = placement::PlanGang(cluster, request, how);
    if (gang.outcome == placement::Outcome::kPlaced) return gang;
    request.eligible = state(job).eligible.get();
  }
  how.explain = options.explain && explain;
  return placement::PlanGang(cluster, request, how);
}

void PlanDraft::Occupy(JobId job, const std::vector<HostId>& hosts) {
  static const std::vector<HostId> kNone;
  placement::MoveOccupation(cluster, state(job).job,
                            state(job).assignment ? state(job).assignment->host_of_rank : kNone,
                            hosts);
}

void PlanDraft::KeepFor(JobId job, const std::vector<HostId>& hosts) {
  for (HostId host : hosts) cluster.hosts[host.index()].reserved_for = job.value;
}

Snapshot& PlanDraft::Afterwards() {
  if (!after_) after_ = snapshot;
  after_->cluster = cluster;
  for (const JobId victim : stopped) {
    placement::ReleaseHosts(after_->cluster, state(victim).job,
                            state(victim).assignment->host_of_rank);
    after_->jobs[victim.index()].assignment.reset();
  }
  return *after_;
}

const ContentionCost& PlanDraft::contention() {
  if (!contention_) contention_.emplace(snapshot);
  for (; contending_ < plan.jobs.size(); ++contending_) {
    const JobPlan& job = plan.jobs[contending_];
    if (job.is_new && !state(job.job).assignment) contention_->Add(job.job, job.gang.host_of_rank);
  }
  return *contention_;
}

}  // namespace yardmaster::plan
