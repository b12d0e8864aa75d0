#include "pkg/operator/jobs/job_step.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/operator/jobs/asked_action.h"
#include "pkg/operator/jobs/incident.h"
#include "pkg/operator/jobs/no_progress.h"

namespace yardmaster::op {

namespace {

using api::Incident;
using api::OnHostLoss;

constexpr std::int64_t kFenceAgainMs = 1'000;
constexpr std::int64_t kDieTogetherMs = 30'000;
constexpr std::int64_t kStallAgainMs = 3'600'000;

bool IsStale(const api::RecoveryState& recovery, const Worker& worker, int rank) {
  if (worker.attempt < recovery.min_attempt) return true;
  const Incident* active = recovery.active();
  return active != nullptr && active->action == OnHostLoss::kReplace &&
         worker.attempt < active->attempt &&
         std::binary_search(active->ranks.begin(), active->ranks.end(), rank);
}

class JobStepper {
 public:
  explicit JobStepper(const JobObservation& job) : job_(job) { step_.recovery = job.recovery; }

  JobStep Run() {
    Count();
    RemoveSurplus();
    if (job_.ended) return std::move(step_);
    if (HasSucceeded()) {
      step_.outcome = JobOutcome::kSucceeded;
      CloseIncident();
      return std::move(step_);
    }
    // Asked for again each time: a request that nothing waits for any more is forgotten.
    step_.recovery.checkpoint_requested_ms = 0;
    // A job that has no pods because it moves or changes its size still has its deadline.
    const bool late = !Failing() && job_.recovery.suspended && DecideDeadline();
    if (!late && !Failing() && job_.run.suspended) {
      Suspend();
      return std::move(step_);
    }
    step_.recovery.suspended = false;
    if (!Failing()) Decide();
    if (Failing()) {
      RemoveAll();
    } else {
      Repair();
    }
    return std::move(step_);
  }

 private:
  // Members with and without a rank.
  int Workers() const { return static_cast<int>(job_.workers.size()); }
  const Worker& At(int rank) const { return job_.workers[static_cast<std::size_t>(rank)]; }
  bool Failing() const {
    const Incident* active = step_.recovery.active();
    return active != nullptr && active->action == OnHostLoss::kFail;
  }
  bool HasSucceeded() const {
    switch (job_.run.success) {
      case api::SuccessPolicy::kAllWorkers:
        return earlier_succeeded_ == job_.ranks_before_growth();
      case api::SuccessPolicy::kRankZero:
        return Workers() > 0 && CountsAsSuccess(0);
      case api::SuccessPolicy::kRole:
        break;
    }
    for (std::size_t i = 0; i < job_.roles.size(); ++i) {
      if (job_.roles[i].name != job_.run.success_role) continue;
      return step_.roles[i].succeeded == job_.roles[i].replicas;
    }
    return false;
  }
  bool CountsAsSuccess(int rank) const {
    const Worker& worker = At(rank);
    return !worker.deleting && !IsStale(job_.recovery, worker, rank) &&
           worker.phase == WorkerPhase::kSucceeded && !IsDisrupted(worker);
  }
  bool IsLost(const Worker& worker) const {
    return worker.host_verdict.state == HostHealthState::kLost && !worker.host.empty();
  }
  // A lost host keeps the job from going on. It does not when the job leaves its hosts anyway, or
  // when the pod's Node is gone and the pod is being deleted: Kubernetes removes such a pod.
  bool IsHeld(const Worker& worker) const {
    return worker.host_verdict.state == HostHealthState::kHeld && !job_.run.suspended &&
           !(worker.deleting && worker.host_gone);
  }
  // The container has ended by itself. What ends shortly after a restart has begun belongs to it:
  // the other ranks of a job die with the first.
  bool FailedInPlace(const Worker& worker) const {
    if (!worker.restartable || Ended(worker) || worker.ends <= worker.attempt_ends) return false;
    const auto& incidents = job_.recovery.incidents;
    if (incidents.empty() || incidents.back().attempt != worker.attempt) return true;
    std::int64_t ended_ms = 0;
    for (const api::ContainerExit& exit : worker.exits) {
      ended_ms = std::max(ended_ms, exit.finished_ms);
    }
    return ended_ms == 0 || ended_ms >= incidents.back().start_ms + kDieTogetherMs;
  }
  static bool Ended(const Worker& worker) {
    return worker.phase == WorkerPhase::kSucceeded || worker.phase == WorkerPhase::kFailed;
  }
  void LookAgain(std::int64_t in_ms) {
    step_.look_again_ms = std::min(step_.look_again_ms.value_or(in_ms), in_ms);
  }
  void CloseIncident() {
    // The API server keeps whole seconds.
    if (step_.recovery.active() != nullptr)
      step_.recovery.incidents.back().end_ms = job_.now_ms / 1000 * 1000;
  }

  void RemoveSurplus() {
    step_.surplus = static_cast<int>(job_.surplus.size());
    for (const SurplusPod& pod : job_.surplus) {
      if (!pod.deleting) step_.remove.push_back({pod.rank, pod.uid, false, true});
    }
  }

  void Count() {
    step_.roles.clear();
    int earlier_up = 0, joined_up = 0;
    for (const RoleRange& role : job_.roles) step_.roles.push_back({role.name, 0, 0});
    for (int rank = 0; rank < Workers(); ++rank) {
      const Worker& worker = At(rank);
      const bool counts = !worker.deleting && !IsStale(job_.recovery, worker, rank);
      const RoleRange* role = job_.RoleOf(rank);
      api::RoleStatus* of_role =
          role == nullptr ? nullptr
                          : &step_.roles[static_cast<std::size_t>(role - job_.roles.data())];
      int& ready = of_role == nullptr ? step_.ready : of_role->ready;
      int& succeeded = of_role == nullptr ? step_.succeeded : of_role->succeeded;
      if (CountsAsSuccess(rank)) {
        ++succeeded;
        if (role == nullptr) ++(job_.Joins(rank) ? joined_up : earlier_up);
        if (role == nullptr && !job_.Joins(rank)) ++earlier_succeeded_;
      }
      if (worker.phase != WorkerPhase::kMissing) ++step_.pods;
      if (!worker.other_gate.empty() && step_.gated_by_others++ == 0) {
        step_.other_gate = worker.other_gate;
      }
      const HostVerdict& verdict = worker.host_verdict;
      if (counts && worker.phase == WorkerPhase::kRunning &&
          verdict.state == HostHealthState::kHealthy) {
        ++ready;
        if (role == nullptr) ++(job_.Joins(rank) ? joined_up : earlier_up);
      }
      if (Ended(worker) || worker.phase == WorkerPhase::kMissing) continue;
      if (IsHeld(worker)) step_.held = verdict.reason;
      if (verdict.again_ms > 0) LookAgain(verdict.again_ms);
      if (verdict.fault == FaultAction::kDegrade && step_.degraded.empty()) {
        step_.degraded = StrCat("host ", worker.host, " has ", verdict.fault_name);
        step_.held_back = verdict.holds_back;
      }
    }
    step_.earlier_ranks_run = step_.ready > 0 && earlier_up == job_.ranks_before_growth();
    step_.all_ranks_run = step_.earlier_ranks_run && earlier_up + joined_up == job_.ranks();
  }

  // True: the job has its checkpoint, or has had the time for one, or cannot be asked.
  bool HasCheckpoint() {
    // A job that does not run in full cannot write one.
    const bool runs = std::all_of(
        job_.workers.begin(), job_.workers.begin() + job_.ranks_before_growth(),
        [](const Worker& worker) {
          const HostVerdict& host = worker.host_verdict;
          const bool reachable = host.state != HostHealthState::kLost || host.reachable();
          return worker.phase == WorkerPhase::kRunning && !worker.deleting && reachable &&
                 !worker.host_gone;
        });
    if (job_.checkpoint.request != api::CheckpointRequest::kAnnotation || !runs) return true;
    // The API server keeps whole seconds.
    const std::int64_t now_ms = job_.now_ms / 1000 * 1000;
    std::int64_t before_ms = job_.recovery.checkpoint_requested_ms;
    if (job_.IsAhead(before_ms)) before_ms = 0;
    const std::int64_t requested_ms = before_ms != 0 ? before_ms : now_ms;
    if (job_.checkpoint_ms >= requested_ms) return true;
    const std::int64_t left_ms =
        requested_ms + std::int64_t{1000} * job_.checkpoint.grace_seconds - job_.now_ms;
    if (left_ms <= 0) return true;
    step_.recovery.checkpoint_requested_ms = requested_ms;
    step_.request_checkpoint_ms = requested_ms;
    LookAgain(left_ms);
    return false;
  }

  // Every pod becomes stale and is removed, in any phase.
  void Suspend() {
    if (!step_.recovery.suspended) {
      if (!HasCheckpoint()) return;
      CloseIncident();
      step_.recovery.suspended = true;
      step_.recovery.min_attempt = ++step_.recovery.attempt;
    }
    for (int rank = 0; rank < Workers(); ++rank) Remove(rank);
  }

  // The members that the rank runs with have all run in the present attempt: those of the job.
  // While data groups restart, the others go on from the attempt before.
  bool HasRunInFull(int rank) const {
    const api::RecoveryState& recovery = step_.recovery;
    if (recovery.running_attempt >= recovery.attempt) return true;
    const Incident* active = recovery.active();
    return static_cast<std::size_t>(rank) < job_.group_of_rank.size() && active != nullptr &&
           active->action == OnHostLoss::kReplace &&
           recovery.running_attempt >= recovery.min_attempt &&
           !std::binary_search(active->ranks.begin(), active->ranks.end(), rank);
  }

  // True: the job is to fail.
  bool DecideDeadline() {
    if (!job_.run.active_deadline_seconds || job_.start_ms == 0) return false;
    const std::int64_t left_ms =
        job_.start_ms + 1000 * *job_.run.active_deadline_seconds - job_.now_ms;
    if (left_ms > 0) {
      LookAgain(left_ms);
      return false;
    }
    FailAtDeadline(job_, step_.recovery);
    step_.decided = true;
    return true;
  }

  void Decide() {
    if (DecideDeadline()) return;
    RankFailures failures;
    for (int rank = 0; rank < Workers(); ++rank) {
      const Worker& worker = At(rank);
      const bool all_ran = HasRunInFull(rank);
      const bool missing = worker.phase == WorkerPhase::kMissing;
      if (missing && job_.Joins(rank)) continue;
      if (missing ? !all_ran : IsStale(step_.recovery, worker, rank)) continue;
      if (!Ended(worker) && IsLost(worker)) {
        failures.lost.push_back(rank);
      } else if (missing || (worker.deleting && all_ran)) {
        failures.removed.push_back(rank);
      } else if (!worker.deleting &&
                 (worker.phase == WorkerPhase::kFailed || FailedInPlace(worker) ||
                  (worker.phase == WorkerPhase::kSucceeded && IsDisrupted(worker)))) {
        failures.failed.push_back(rank);
      }
    }
    const bool drains = !failures.lost.empty() && failures.failed.empty() &&
                        failures.removed.empty() &&
                        std::all_of(failures.lost.begin(), failures.lost.end(), [this](int rank) {
                          return At(rank).host_verdict.fault == FaultAction::kDrain;
                        });
    if (drains && !HasCheckpoint()) return;
    step_.decided = DecideIncident(job_, failures, step_.recovery);
    if (failures.lost.empty() && failures.failed.empty() && !failures.removed.empty()) {
      step_.removed = failures.removed.front();
    }
    if (!step_.decided) LookForProgress();
    if (!step_.decided) DecideMove();
  }

  // How long the job does not restart for a stall because it has restarted for one.
  std::int64_t StallPauseMs() const {
    std::int64_t pause_ms = 0;
    for (const Incident& incident : step_.recovery.incidents) {
      const std::int64_t age_ms = job_.now_ms - incident.start_ms;  // below 0: a clock was ahead
      if (incident.cause != api::IncidentCause::kStalled || age_ms < 0) continue;
      pause_ms = std::max(pause_ms, kStallAgainMs - age_ms);
    }
    return pause_ms;
  }

  void LookForProgress() {
    const bool all_run = job_.earlier_ranks == 0 && step_.ready == job_.ranks();
    if (!all_run || job_.running_ms <= 0 || step_.recovery.active() != nullptr) return;
    NoProgress found = FindNoProgress(job_);
    if (found.look_again_ms) LookAgain(*found.look_again_ms);
    step_.no_progress = std::move(found.stall);
    if (!step_.no_progress.exists()) return;
    if (job_.policy.on_stall == api::OnStall::kKeep) {
      step_.no_progress.message += "; spec.recovery.onStall is Keep, Restart restarts the job";
    } else if (const std::int64_t pause_ms = StallPauseMs(); pause_ms > 0) {
      step_.no_progress.message += "; the job restarted for this less than an hour ago";
      LookAgain(pause_ms);
    } else {
      RestartStalled(job_, step_.no_progress.message, found.suspects, step_.recovery);
      step_.no_progress = {};
      step_.decided = true;
    }
  }

  void DecideMove() {
    if (!job_.moves || !step_.all_ranks_run || step_.recovery.active() != nullptr) return;
    if (!HasCheckpoint()) return;
    BeginMove(job_, step_.recovery);
    // What is known of the hosts that it leaves.
    step_.no_progress = {};
    step_.degraded.clear();
    step_.held_back = false;
    step_.decided = step_.begins_move = true;
  }

  void Remove(int rank) {
    const Worker& worker = At(rank);
    if (worker.phase == WorkerPhase::kMissing) return;
    const bool lost = IsLost(worker) && !worker.host_verdict.reachable();
    if (lost && !worker.host_fenced && worker.fence_wait_ms > 0) {
      LookAgain(worker.fence_wait_ms);
    } else if (lost && !worker.host_fenced) {
      const auto at = std::lower_bound(step_.fence.begin(), step_.fence.end(), worker.host);
      if (at == step_.fence.end() || *at != worker.host) step_.fence.insert(at, worker.host);
      LookAgain(kFenceAgainMs);
    }
    const bool force = lost && worker.host_fenced;
    if (!worker.deleting || force) step_.remove.push_back({rank, worker.uid, force});
  }

  // Until the pod is recreated instead; 0: it is now.
  std::int64_t InPlaceLeftMs(const Worker& worker) const {
    const Incident* active = step_.recovery.active();
    if (active == nullptr || !worker.restartable || worker.deleting || worker.host.empty() ||
        IsLost(worker) || Ended(worker) || active->cause == api::IncidentCause::kMoved) {
      return 0;
    }
    // Pods of a drained host are given the time for a checkpoint, in which all ranks take part. A
    // container that restarts in place has ten seconds. Asked by annotation, the job has its
    // checkpoint already.
    const bool drained = active->cause == api::IncidentCause::kHostFault ||
                         active->cause == api::IncidentCause::kSlowHost;
    if (drained && job_.checkpoint.request != api::CheckpointRequest::kAnnotation) {
      return 0;
    }
    for (const api::AvoidedHost& avoided : step_.recovery.avoided) {
      if (avoided.host == worker.host && avoided.until_ms > job_.now_ms) return 0;
    }
    if (job_.IsAhead(active->start_ms)) return 0;
    const std::int64_t begin_ms = std::max(active->start_ms, active->not_before_ms);
    return begin_ms + std::int64_t{1000} * job_.policy.in_place_seconds - job_.now_ms;
  }

  // REQUIRES: it may restart in place, and its host's back-off is over.
  void RestartInPlace(int rank) {
    const Worker& worker = At(rank);
    const std::int64_t attempt = step_.recovery.active()->attempt;
    // Yet to start, or ended and started again since it joined its attempt.
    const bool fresh = worker.phase != WorkerPhase::kRunning || worker.ends > worker.attempt_ends;
    if (fresh) {
      step_.in_place.push_back({rank, worker.uid, attempt, worker.ends, worker.restart_generation});
    } else if (worker.restart_generation < attempt) {
      step_.in_place.push_back({rank, worker.uid, worker.attempt, worker.ends, attempt});
    }
  }

  // An end that was not a failure of its own does not count as a restart for the next incident.
  void AcknowledgeContainerExit(int rank) {
    const Worker& worker = At(rank);
    if (!worker.restartable || worker.deleting || Ended(worker) ||
        worker.ends <= worker.attempt_ends || IsStale(step_.recovery, worker, rank) ||
        FailedInPlace(worker)) {
      return;
    }
    step_.in_place.push_back(
        {rank, worker.uid, worker.attempt, worker.ends, worker.restart_generation});
  }

  void RemoveAll() {
    bool left = false;
    for (int rank = 0; rank < Workers(); ++rank) {
      const Worker& worker = At(rank);
      if (Ended(worker) || worker.phase == WorkerPhase::kMissing) continue;
      Remove(rank);
      left |= !worker.deleting;
    }
    if (left || step_.decided) return;
    step_.outcome = JobOutcome::kFailed;
    CloseIncident();
  }

  // Every worker has its host and is to stay: pods of roles may be made.
  bool HasHosts() const {
    for (int rank = 0; rank < job_.ranks_before_growth(); ++rank) {
      if (At(rank).host.empty() || IsStale(step_.recovery, At(rank), rank)) return false;
    }
    return true;
  }

  void ListWhatIsGivenBack() {
    if (job_.placed && !job_.to_come) return;
    std::vector<Removal> all;
    for (int rank = 0; rank < Workers(); ++rank) {
      const Worker& worker = At(rank);
      if (worker.phase == WorkerPhase::kMissing) continue;
      if (!job_.to_come && worker.phase != WorkerPhase::kGated) return;
      if (!worker.deleting) all.push_back({rank, worker.uid});
    }
    step_.give_back = std::move(all);
  }

  void Repair() {
    const bool has_hosts = job_.roles.empty() || HasHosts();
    const Incident* active = step_.recovery.active();
    const std::int64_t wait_ms =
        active == nullptr || job_.IsAhead(active->start_ms)
            ? 0
            : std::max<std::int64_t>(0, active->not_before_ms - job_.now_ms);
    bool all_run = true;
    const auto wait_for = [&](int rank) { all_run = all_run && job_.Joins(rank); };
    for (int rank = 0; rank < Workers(); ++rank) {
      const Worker& worker = At(rank);
      const bool stale = IsStale(step_.recovery, worker, rank);
      if (worker.phase == WorkerPhase::kMissing) {
        wait_for(rank);
        if (wait_ms > 0) {
          LookAgain(wait_ms);
        } else if (has_hosts || rank < job_.ranks()) {
          step_.create.push_back(rank);
        }
      } else if (const std::int64_t left_ms = stale ? InPlaceLeftMs(worker) : 0; left_ms > 0) {
        wait_for(rank);
        LookAgain(wait_ms > 0 ? wait_ms : left_ms);
        if (wait_ms == 0) RestartInPlace(rank);
      } else if (stale || (worker.deleting && IsLost(worker))) {
        wait_for(rank);
        Remove(rank);
      } else if (worker.deleting || (worker.phase != WorkerPhase::kRunning &&
                                     worker.phase != WorkerPhase::kSucceeded)) {
        wait_for(rank);
      }
    }
    for (int rank = 0; rank < Workers(); ++rank) AcknowledgeContainerExit(rank);
    ListWhatIsGivenBack();
    if (!all_run) return;
    step_.recovery.running_attempt = step_.recovery.attempt;
    CloseIncident();
  }

  const JobObservation& job_;
  JobStep step_;
  int earlier_succeeded_ = 0;
};

}  // namespace

JobStep NextStep(const JobObservation& job) { return JobStepper(job).Run(); }

}  // namespace yardmaster::op
