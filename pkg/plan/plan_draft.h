// A plan in the making: what its jobs have taken, what is kept for them, and who is stopped.
//
// Lifetimes: snapshot and options outlive it. Thread safety: one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "pkg/placement/gang_planner.h"
#include "pkg/plan/contention_cost.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

class PlanDraft {
 public:
  PlanDraft(const Snapshot& snapshot, const placement::PlannerOptions& options)
      : snapshot(snapshot), options(options), cluster(snapshot.cluster) {}

  const JobState& state(JobId job) const { return snapshot.jobs[job.index()]; }
  placement::GangRequest RequestOf(JobId job) const { return plan::RequestOf(state(job), job); }
  fabric::BackupPolicy backup_policy() const {
    return snapshot.network ? snapshot.network->spec().backup : fabric::BackupPolicy{};
  }

  // The best place of the job as things stand, on the hosts that it prefers if there is one, with
  // the reservations that it may fill lifted.
  placement::GangPlan Search(JobId job, bool explain = true);
  // The job has these hosts, and no longer those of its assignment.
  void Occupy(JobId job, const std::vector<fabric::HostId>& hosts);
  void KeepFor(JobId job, const std::vector<fabric::HostId>& hosts);
  // The cluster after the jobs that are being stopped have left. Valid until the next call; changes
  // of its budgets stay.
  Snapshot& Afterwards();
  // With the jobs placed so far. REQUIRES: snapshot.network.
  const ContentionCost& contention();

  const Snapshot& snapshot;
  const placement::PlannerOptions& options;
  placement::Cluster cluster;
  Plan plan;
  std::vector<JobId> stopped;  // jobs being stopped, already or by this plan
  int victim_searches = 0;     // jobs for which StopOthers has looked for victims
  int later_searches = 0;      // jobs for which AwaitLeavingHosts has looked for a later place

 private:
  placement::GangPlan PlanPreferredFirst(JobId job, bool explain) const;

  // Kept from one decision to the next, because jobs are many and clusters small.
  std::optional<Snapshot> after_;
  std::optional<ContentionCost> contention_;
  std::size_t contending_ = 0;  // plan.jobs that contention_ has seen
};

}  // namespace yardmaster::plan
