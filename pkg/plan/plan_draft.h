// A plan under construction: the hosts that its jobs have taken, the hosts kept for them, and the
// jobs that are stopped.
//
// Lifetimes: snapshot and options outlive the draft. Thread safety: one thread.
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

  // Returns the best place of the job now, on its preferred hosts if there is one. Reservations
  // that it may use are ignored.
  placement::GangPlan Search(JobId job, bool explain = true);
  // Gives the job these hosts in place of those of its assignment.
  void Occupy(JobId job, const std::vector<fabric::HostId>& hosts);
  // Keeps hosts for a job that waits.
  void KeepFor(JobId job, const std::vector<fabric::HostId>& hosts);
  // Returns the cluster after all jobs that are being stopped have left. Valid until the next call;
  // changes of its budgets persist.
  Snapshot& Afterwards();
  // Returns the contention cost with the jobs placed so far. REQUIRES: snapshot.network.
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

  // Cached between decisions, because rebuilding is expensive.
  std::optional<Snapshot> after_;
  std::optional<ContentionCost> contention_;
  std::size_t contending_ = 0;  // plan.jobs that contention_ has seen
};

}  // namespace yardmaster::plan
