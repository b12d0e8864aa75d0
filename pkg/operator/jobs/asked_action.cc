#include "pkg/operator/jobs/asked_action.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace yardmaster::op {

namespace {

using api::FailureAction;
using api::IncidentCause;
using api::OnHostLoss;

const Worker& WorkerAt(const JobObservation& job, int rank) {
  return job.workers[static_cast<std::size_t>(rank)];
}

// When the worker's first container ended; the far future if that was not reported.
std::int64_t FinishedMs(const Worker& worker) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const api::ContainerExit& exit : worker.exits) {
    if (exit.finished_ms != 0 && exit.exit_code != 0) first = std::min(first, exit.finished_ms);
  }
  return first;
}

int FirstToFail(const JobObservation& job, const std::vector<int>& ranks) {
  return *std::min_element(ranks.begin(), ranks.end(), [&](int a, int b) {
    return std::pair(FinishedMs(WorkerAt(job, a)), a) < std::pair(FinishedMs(WorkerAt(job, b)), b);
  });
}

// A role may ask for a restart of all.
bool RestartsByGroup(const JobObservation& job, const std::vector<int>& ranks, OnHostLoss action) {
  return action == OnHostLoss::kRestart && !job.group_of_rank.empty() &&
         ActionFor(job, ranks, OnHostLoss::kReplace) == OnHostLoss::kReplace;
}

}  // namespace

bool IsDisrupted(const Worker& worker) {
  return api::HasCondition(worker.final_conditions, api::kDisruptionTarget);
}

const api::FailureRule* MatchRule(const std::vector<api::FailureRule>& rules,
                                  const Worker& worker) {
  for (const api::FailureRule& rule : rules) {
    if (!rule.pod_condition.empty()) {
      if (api::HasCondition(worker.final_conditions, rule.pod_condition)) return &rule;
      continue;
    }
    for (const api::ContainerExit& exit : worker.exits) {
      if (exit.exit_code == 0) continue;
      if (!rule.container.empty() && rule.container != exit.container) continue;
      const bool listed = std::find(rule.exit_codes.begin(), rule.exit_codes.end(),
                                    exit.exit_code) != rule.exit_codes.end();
      if (listed != rule.not_in) return &rule;
    }
  }
  return nullptr;
}

bool OnlyRoles(const JobObservation& job, const std::vector<int>& members) {
  return !members.empty() && members.front() >= job.ranks();
}

OnHostLoss ActionFor(const JobObservation& job, const std::vector<int>& members,
                     OnHostLoss for_workers) {
  OnHostLoss action = OnlyRoles(job, members) ? OnHostLoss::kReplace : for_workers;
  for (const int member : members) {
    const RoleRange* role = job.RoleOf(member);
    if (role != nullptr) action = std::max(action, role->on_failure);
  }
  return action;
}

Asked AskedByFailure(const JobObservation& job, const std::vector<int>& failed) {
  Asked asked;
  asked.root = FirstToFail(job, failed);
  const Worker& worker = WorkerAt(job, asked.root);
  asked.of_role = job.RoleOf(asked.root) != nullptr;
  asked.rule = asked.of_role ? nullptr : MatchRule(job.policy.rules, worker);
  asked.ignored =
      asked.rule != nullptr ? asked.rule->action == FailureAction::kIgnore : IsDisrupted(worker);
  asked.action = ActionFor(job, failed, job.policy.on_worker_failure);
  if (asked.rule != nullptr && asked.rule->action == FailureAction::kReplace) {
    asked.action = OnHostLoss::kReplace;
  } else if (asked.rule != nullptr && asked.rule->action == FailureAction::kRestart) {
    asked.action = OnHostLoss::kRestart;
  } else if (asked.rule != nullptr && asked.rule->action == FailureAction::kFail) {
    asked.action = OnHostLoss::kFail;
  } else if ((asked.rule != nullptr || asked.ignored) && asked.action == OnHostLoss::kFail) {
    asked.action = OnHostLoss::kRestart;
  }
  asked.by_group = RestartsByGroup(job, failed, asked.action);
  return asked;
}

bool HaveFault(const JobObservation& job, const std::vector<int>& members) {
  return WorkerAt(job, members[0]).host_verdict.reachable();
}

Asked AskedByLoss(const JobObservation& job, const std::vector<int>& members, IncidentCause cause) {
  Asked asked;
  asked.action = ActionFor(job, members, job.policy.on_host_loss);
  // A job that runs slowly is better than one that has failed.
  const bool goes_on = cause == IncidentCause::kHostLost && HaveFault(job, members) &&
                       WorkerAt(job, members[0]).host_verdict.holds_back;
  if ((goes_on || cause == IncidentCause::kWorkerRemoved) && asked.action == OnHostLoss::kFail) {
    asked.action = OnHostLoss::kRestart;
  }
  asked.by_group = RestartsByGroup(job, members, asked.action);
  return asked;
}

}  // namespace yardmaster::op
