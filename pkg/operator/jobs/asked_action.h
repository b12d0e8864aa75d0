// What the policies and rules of a job ask for when workers fail or are lost, before the restart
// budget and the incident before are looked at (incident.h).
//
// Of several policies that are concerned at the same time the strictest decides. A rule decides in
// the place of onWorkerFailure, by the worker that failed first; what it ignores, and a disrupted
// worker without a rule, is left out of the budget and does not fail the job. A removed pod does
// not fail the job, nor does a host that only holds it back.
//
// Thread safety: pure functions. Complexity: O(ranks * roles).
#pragma once

#include <vector>

#include "pkg/operator/jobs/job_observation.h"

namespace yardmaster::op {

// The pod was ended from outside: its condition DisruptionTarget is True.
bool IsDisrupted(const Worker& worker);

// The first rule that matches a failed worker, or null.
const api::FailureRule* MatchRule(const std::vector<api::FailureRule>& rules, const Worker& worker);

// Members without a rank, and at least one.
bool OnlyRoles(const JobObservation& job, const std::vector<int>& members);

// What the policies of all that is concerned ask for at least. `for_workers`: theirs.
api::OnHostLoss ActionFor(const JobObservation& job, const std::vector<int>& members,
                          api::OnHostLoss for_workers);

struct Asked {
  api::OnHostLoss action = api::OnHostLoss::kRestart;
  // Restart means the data groups concerned.
  bool by_group = false;
  // Of failed workers: the first, what its policy says, and whether it is left out of the budget.
  int root = -1;
  const api::FailureRule* rule = nullptr;
  bool of_role = false;
  bool ignored = false;

  // The host of the first worker is to be avoided.
  bool moves() const { return rule != nullptr && rule->action == api::FailureAction::kReplaceHost; }
};

// REQUIRES of all below: members ascend, and there is at least one.
Asked AskedByFailure(const JobObservation& job, const std::vector<int>& failed);
// `cause`: not kWorkerFailed.
Asked AskedByLoss(const JobObservation& job, const std::vector<int>& members,
                  api::IncidentCause cause);
// Their hosts are there, and a fault is why the first one is left.
bool HaveFault(const JobObservation& job, const std::vector<int>& members);

}  // namespace yardmaster::op
