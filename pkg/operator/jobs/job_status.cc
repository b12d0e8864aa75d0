#include <map>

#include "pkg/base/strings.h"
#include "pkg/operator/jobs/incident.h"
#include "pkg/operator/jobs/job_controller.h"
#include "pkg/operator/jobs/status_pace.h"

namespace yardmaster::op {

namespace {

using api::ConditionStatus;

constexpr char kAwaitingQuota[] = "AwaitingQuota";

class Conditions {
 public:
  Conditions(api::TrainingJobStatus& status, std::int64_t generation, std::int64_t now_ms)
      : status_(status), generation_(generation), now_ms_(now_ms) {}
  void Set(const char* type, bool value, const std::string& reason, const std::string& message) {
    api::SetCondition(status_.conditions,
                      {type, value ? ConditionStatus::kTrue : ConditionStatus::kFalse, reason,
                       message, generation_, 0},
                      now_ms_);
  }

 private:
  api::TrainingJobStatus& status_;
  std::int64_t generation_;
  std::int64_t now_ms_;
};

std::string HeldByOthersText(const JobStep& step) {
  return StrCat(Count(step.gated_by_others, "pod"), step.gated_by_others == 1 ? " waits" : " wait",
                " behind the scheduling gate ", step.other_gate, ", which is not Yardmaster's");
}

// Of a job that has no Gang yet.
void SetGathering(const JobStep& step, const api::TrainingJobStatus& status,
                  Conditions& conditions) {
  if (status.queue.holds_job()) {
    return conditions.Set("Planned", false, kAwaitingQuota, status.queue.message);
  }
  const api::Condition* stalled = api::FindCondition(status.conditions, "Stalled");
  if (stalled != nullptr && stalled->status == ConditionStatus::kTrue) {
    return conditions.Set("Planned", false, stalled->reason, stalled->message);
  }
  if (step.gated_by_others > 0) {
    return conditions.Set(
        "Planned", false, "HeldByOthers",
        StrCat(HeldByOthersText(step),
               "; the job is placed when the controller of that gate has opened it; leave the gate "
               "out of spec.template where nothing opens it"));
  }
  conditions.Set("Planned", false, kGatheringReason, "the job's pods are being gathered");
}

void FromGang(const api::Gang* gang, const JobStep& step, api::TrainingJobStatus& status,
              Conditions& conditions) {
  status.segments.clear();
  status.intensity.reset();
  status.level.reset();
  const api::Condition* planned =
      gang == nullptr ? nullptr
                      : api::FindCondition(gang->status.conditions, api::kPlannedCondition);
  const bool refused = gang != nullptr && gang->pods != api::GangPods::kFirst &&
                       !gang->status.committed() && api::IsTrue(status.conditions, "Stalled");
  if (planned == nullptr || refused) return SetGathering(step, status, conditions);
  conditions.Set("Planned", planned->status == ConditionStatus::kTrue, planned->reason,
                 planned->message);
  // As the ledger has them, under the same names.
  if (const api::Condition* preempted =
          api::FindCondition(gang->status.conditions, api::kPreemptedCondition)) {
    conditions.Set("Preempted", preempted->status == ConditionStatus::kTrue, preempted->reason,
                   preempted->message);
  }
  std::map<std::pair<std::string, std::string>, int> workers;
  for (const api::AssignmentEntry& slot : gang->status.assignments) {
    ++workers[{slot.fabric_pod, slot.segment}];
  }
  for (const auto& [place, count] : workers) {
    status.segments.push_back({place.first, place.second, count});
  }
  if (!gang->status.network) return;
  status.intensity = gang->status.network->intensity;
  status.level = gang->status.network->level;
}

// Whether the job waits for a place, has one, or has been told to give it back.
void SetPlace(const api::TrainingJob& job, const JobStep& step, bool ended,
              const api::TrainingJobStatus& status, Conditions& conditions) {
  const bool suspended = step.recovery.suspended;
  const bool resizing = !job.run.suspended && (suspended || job.status.elastic.target != 0);
  const char* const by = resizing ? "Resizing" : "Suspended";
  const api::Condition planned = *api::FindCondition(status.conditions, "Planned");
  const bool placed = planned.status == ConditionStatus::kTrue && !(suspended && step.pods == 0);
  conditions.Set("Placed", placed, suspended && !placed ? by : planned.reason, planned.message);
  // Without pods because it waits for quota, or hosts are rented for it or given back.
  const bool in_queue = job.status.queue.holds_job();
  const bool held = !job.run.suspended && (in_queue || job.status.capacity.holds_job());
  if (held && !placed && !ended) {
    const char* const why = in_queue ? kAwaitingQuota : "AwaitingHosts";
    const std::string& message = in_queue ? job.status.queue.message : job.status.capacity.message;
    conditions.Set("Placed", false, why, message);
    conditions.Set("Queued", true, why, message);
    return;
  }
  const bool queued = !placed && !suspended && !ended;
  conditions.Set("Queued", queued,
                 queued      ? planned.reason
                 : placed    ? "Placed"
                 : suspended ? by
                             : "Ended",
                 queued ? planned.message : "");
  const bool left = step.pods > 0;
  if (resizing || held) return;
  if (suspended) {
    conditions.Set("Suspended", !left, left ? "Suspending" : "Suspended",
                   left ? StrCat(Count(step.pods, "pod"), " of the job are ending")
                   : job.metadata.deleted_ms
                       ? "the job is deleted"
                       : "by spec.suspend; the job has no pods and its hosts are given back");
  } else if (job.run.suspended && !ended) {
    conditions.Set("Suspended", false, "AwaitingCheckpoint",
                   "the job is asked for a checkpoint before its pods are ended");
  } else if (api::FindCondition(job.status.conditions, "Suspended") != nullptr) {
    conditions.Set("Suspended", false, "Resumed", "spec.suspend is false");
  }
}

// The lost segment, or domain, whose ranks are not running again, with its kind; empty: there is
// none.
std::string LostPlaceOf(const JobStep& step) {
  const api::Incident* active = step.recovery.active();
  if (active == nullptr) return "";
  if (!active->segment.empty()) return "segment " + active->segment;
  return active->domain.empty() ? std::string() : "domain " + active->domain;
}

// Why its ranks wait, with the change that would help, where the ledger has no place for them.
std::string LeavingText(const std::string& place, const std::string& running,
                        const api::TrainingJobStatus& status) {
  const api::Condition* planned = api::FindCondition(status.conditions, "Planned");
  const bool waits = planned != nullptr && planned->status == ConditionStatus::kFalse;
  return StrCat(place, " is lost; ", running, waits ? "; " : "", waits ? planned->message : "");
}

// True from an incident's decision until every worker runs again.
void SetRecovery(const JobStep& step, bool ended, Conditions& conditions) {
  if (step.recovery.incidents.empty()) return;
  const api::Incident& last = step.recovery.incidents.back();
  const bool active = step.recovery.active() != nullptr && !ended;
  conditions.Set("Recovering", active, active ? NameOf(last.cause) : "NoIncident", last.message);
}

void SetSucceeded(const api::TrainingJob& job, Conditions& conditions) {
  switch (job.run.success) {
    case api::SuccessPolicy::kAllWorkers:
      return conditions.Set("Succeeded", true, "WorkersSucceeded", "every worker has succeeded");
    case api::SuccessPolicy::kRankZero:
      return conditions.Set("Succeeded", true, "RankZeroSucceeded", "rank 0 has succeeded");
    case api::SuccessPolicy::kRole:
      return conditions.Set("Succeeded", true, "RoleSucceeded",
                            StrCat("role ", job.run.success_role, " has succeeded"));
  }
}

const char* FailureReason(const api::TrainingJob& job, const api::Incident& last) {
  if (last.cause == api::IncidentCause::kHostLost) return "HostLost";
  if (last.cause == api::IncidentCause::kDeadlineExceeded) return "DeadlineExceeded";
  if (last.cause == api::IncidentCause::kHostFault) return "HostFault";
  if (last.cause == api::IncidentCause::kSegmentLost) return "SegmentLost";
  if (last.cause == api::IncidentCause::kDomainLost) return "DomainLost";
  if (last.cause == api::IncidentCause::kSlowHost) return "SlowHost";
  if (last.cause == api::IncidentCause::kStalled) return "NoRestartLeft";
  const bool spent = job.status.recovery.restarts_in_window >= job.recovery.max_restarts;
  const bool by_policy = job.recovery.on_worker_failure == api::OnHostLoss::kFail;
  return spent && !by_policy ? "NoRestartLeft" : "WorkerFailed";
}

}  // namespace

api::TrainingJobStatus StatusOf(const api::TrainingJob& job, const api::Gang* gang,
                                const JobStep& step, std::int64_t now_ms) {
  api::TrainingJobStatus status = job.status;
  Conditions conditions(status, job.metadata.generation, now_ms);
  status.observed_generation = job.metadata.generation;
  const bool suspended = step.recovery.suspended;
  status.workers = suspended && step.pods == 0 ? 0 : job.job.workers;
  status.ready_workers = step.ready;
  status.succeeded_workers = step.succeeded;
  status.roles = step.roles;
  status.recovery = step.recovery;
  // A suspension begins an attempt, too, and is not an incident.
  const bool began = step.recovery.attempt != job.status.recovery.attempt &&
                     !step.recovery.suspended && !step.recovery.incidents.empty();
  if (began && step.recovery.incidents.back().counted) ++status.restarts;
  FromGang(gang, step, status, conditions);
  const bool ended = step.outcome != JobOutcome::kRunning;
  SetPlace(job, step, ended, status, conditions);

  const std::string running =
      StrCat(step.ready, " of ", Count(job.job.workers, "worker"), " running",
             step.gated_by_others > 0 ? "; " + HeldByOthersText(step) : std::string());
  // Ranks that join are not missing yet.
  const bool all_run = step.earlier_ranks_run && !suspended;
  // The API server keeps whole seconds.
  // A job that moves or changes its size is not suspended by its spec, and goes on.
  if (suspended && job.run.suspended) status.start_ms = 0;
  if (all_run && status.start_ms == 0) status.start_ms = now_ms / 1000 * 1000;
  if (ended) status.completion_ms = now_ms / 1000 * 1000;
  conditions.Set("Running", all_run, all_run ? "WorkersRunning" : "WorkersMissing", running);
  SetRecovery(step, ended, conditions);
  // Degraded: it has run in full once and does not now.
  const bool was_running = all_run ||
                           api::FindCondition(job.status.conditions, "Degraded") != nullptr ||
                           api::IsTrue(job.status.conditions, "Running");
  if (was_running) {
    const bool faulty = all_run && !ended && !step.degraded.empty();
    // One that was resumed is waiting or starting until it runs in full again.
    const bool started = status.start_ms != 0;
    const bool degraded = (!all_run && !ended && !suspended && started) || faulty;
    const bool held = degraded && !step.held.empty();
    const api::Incident* active = step.recovery.active();
    const bool moves = active != nullptr && active->cause == api::IncidentCause::kMoved;
    const std::string place = degraded && !faulty ? LostPlaceOf(step) : std::string();
    const std::string lost_reason = place.starts_with("domain ") ? "DomainLost" : "SegmentLost";
    conditions.Set("Degraded", degraded,
                   held             ? "RecoveryHeld"
                   : faulty         ? (step.held_back ? "HeldBack" : "HostFault")
                   : !place.empty() ? lost_reason
                   : degraded       ? (moves ? "Moving" : "WorkersLost")
                   : all_run        ? "WorkersRunning"
                   : ended          ? "Ended"
                   : suspended      ? "Suspended"
                                    : "NotStarted",
                   held             ? step.held
                   : faulty         ? step.degraded
                   : !place.empty() ? LeavingText(place, running, status)
                                    : running);
  }
  if (step.outcome == JobOutcome::kSucceeded) {
    SetSucceeded(job, conditions);
  } else if (step.outcome == JobOutcome::kFailed) {
    const api::Incident& last = step.recovery.incidents.back();
    conditions.Set("Failed", true, FailureReason(job, last), last.message);
  }
  return status;
}

}  // namespace yardmaster::op
