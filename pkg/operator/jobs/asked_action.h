// Determines which action the policies and failure rules of a job request when workers fail or are
// lost. incident.h then applies the restart budget and the active incident.
//
//   - If several policies apply at the same time, the strictest decides.
//   - A failure rule that matches the worker that failed first overrides onWorkerFailure.
//   - A failure with action Ignore, and a disrupted worker that no rule matches, costs no restart
//     of the budget and does not fail the job.
//   - A removed pod does not fail the job, nor does a host that only slows it down.
//
// Thread safety: pure functions. Complexity: O(ranks * roles).
#pragma once

#include <vector>

#include "pkg/operator/jobs/job_observation.h"

namespace yardmaster::op {

// True if the pod was ended from outside: its condition DisruptionTarget is True.
bool IsDisrupted(const Worker& worker);

// Returns the first rule that matches a failed worker, or null.
const api::FailureRule* MatchRule(const std::vector<api::FailureRule>& rules, const Worker& worker);

// True if `members` is not empty and all of them are pods of roles, without a rank.
bool OnlyRoles(const JobObservation& job, const std::vector<int>& members);

// Returns the strictest action of all policies that apply to `members`. `for_workers`: the action
// for workers.
api::OnHostLoss ActionFor(const JobObservation& job, const std::vector<int>& members,
                          api::OnHostLoss for_workers);

struct Asked {
  api::OnHostLoss action = api::OnHostLoss::kRestart;
  // Restart applies only to the data groups of the members.
  bool by_group = false;
  // Only for failed workers: the one that failed first, the rule that matches it, whether it is a
  // pod of a role, and whether the failure costs no restart of the budget.
  int root = -1;
  const api::FailureRule* rule = nullptr;
  bool of_role = false;
  bool ignored = false;

  // True if the job is to avoid the host of the worker that failed first.
  bool moves() const { return rule != nullptr && rule->action == api::FailureAction::kReplaceHost; }
};

// REQUIRES for all below: `members` ascend and are not empty.
Asked AskedByFailure(const JobObservation& job, const std::vector<int>& failed);
// REQUIRES: `cause` is not kWorkerFailed.
Asked AskedByLoss(const JobObservation& job, const std::vector<int>& members,
                  api::IncidentCause cause);
// True if the host of the first member is reachable, so that a fault, not a loss, is why it is
// left.
bool HaveFault(const JobObservation& job, const std::vector<int>& members);

}  // namespace yardmaster::op
