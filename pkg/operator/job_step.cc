#include "pkg/operator/job_step.h"

#include <algorithm>

#include "pkg/operator/incident.h"

namespace yardmaster::op {

namespace {

using api::Incident;
using api::OnHostLoss;

bool IsStale(const api::RecoveryState& recovery, const Worker& worker, int rank) {
  if (worker.attempt < recovery.min_attempt) return true;
  const Incident* active = recovery.active();
  return active != nullptr && active->action == OnHostLoss::kReplace &&
         worker.attempt < active->attempt &&
         std::binary_search(active->ranks.begin(), active->ranks.end(), rank);
}

class Stepper {
 public:
  explicit Stepper(const JobObservation& job) : job_(job) { step_.recovery = job.recovery; }

  JobStep Run() {
    Count();
    if (job_.ended) return std::move(step_);
    if (step_.succeeded == Workers()) {
      step_.outcome = JobOutcome::kSucceeded;
      CloseIncident();
      return std::move(step_);
    }
    if (!Failing()) Decide();
    if (Failing()) {
      RemoveAll();
    } else {
      Repair();
    }
    return std::move(step_);
  }

 private:
  int Workers() const { return static_cast<int>(job_.workers.size()); }
  const Worker& At(int rank) const { return job_.workers[static_cast<std::size_t>(rank)]; }
  bool Failing() const {
    const Incident* active = step_.recovery.active();
    return active != nullptr && active->action == OnHostLoss::kFail;
  }
  bool IsLost(const Worker& worker) const {
    return worker.host_verdict.state == HostState::kLost && !worker.host.empty();
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

  void Count() {
    for (int rank = 0; rank < Workers(); ++rank) {
      const Worker& worker = At(rank);
      const bool counts = !worker.deleting && !IsStale(job_.recovery, worker, rank);
      if (counts && worker.phase == WorkerPhase::kSucceeded && !IsDisrupted(worker)) {
        ++step_.succeeded;
      }
      const HostVerdict& verdict = worker.host_verdict;
      if (counts && worker.phase == WorkerPhase::kRunning && verdict.state == HostState::kHealthy) {
        ++step_.ready;
      }
      if (Ended(worker) || worker.phase == WorkerPhase::kMissing) continue;
      if (verdict.state == HostState::kHeld) step_.held = verdict.reason;
      if (verdict.again_ms > 0) LookAgain(verdict.again_ms);
    }
  }

  void Decide() {
    Troubles troubles;
    const bool all_ran = step_.recovery.running_attempt >= step_.recovery.attempt;
    for (int rank = 0; rank < Workers(); ++rank) {
      const Worker& worker = At(rank);
      const bool missing = worker.phase == WorkerPhase::kMissing;
      if (missing ? !all_ran : IsStale(step_.recovery, worker, rank)) continue;
      if (!Ended(worker) && IsLost(worker)) {
        troubles.lost.push_back(rank);
      } else if (missing || (worker.deleting && all_ran)) {
        troubles.removed.push_back(rank);
      } else if (!worker.deleting &&
                 (worker.phase == WorkerPhase::kFailed ||
                  (worker.phase == WorkerPhase::kSucceeded && IsDisrupted(worker)))) {
        troubles.failed.push_back(rank);
      }
    }
    step_.decided = DecideIncident(job_, troubles, step_.recovery);
  }

  void Remove(int rank) {
    const Worker& worker = At(rank);
    if (worker.phase == WorkerPhase::kMissing) return;
    const bool force = IsLost(worker);
    if (!worker.deleting || force) step_.remove.push_back({rank, worker.uid, force});
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

  void Repair() {
    const Incident* active = step_.recovery.active();
    const std::int64_t wait_ms =
        active == nullptr ? 0 : std::max<std::int64_t>(0, active->not_before_ms - job_.now_ms);
    bool all_run = true;
    for (int rank = 0; rank < Workers(); ++rank) {
      const Worker& worker = At(rank);
      const bool stale = IsStale(step_.recovery, worker, rank);
      if (worker.phase == WorkerPhase::kMissing) {
        all_run = false;
        if (wait_ms > 0) {
          LookAgain(wait_ms);
        } else {
          step_.create.push_back(rank);
        }
      } else if (stale || (worker.deleting && IsLost(worker))) {
        all_run = false;
        Remove(rank);
      } else if (worker.deleting || (worker.phase != WorkerPhase::kRunning &&
                                     worker.phase != WorkerPhase::kSucceeded)) {
        all_run = false;
      }
    }
    if (!all_run) return;
    step_.recovery.running_attempt = step_.recovery.attempt;
    CloseIncident();
  }

  const JobObservation& job_;
  JobStep step_;
};

}  // namespace

JobStep NextStep(const JobObservation& job) { return Stepper(job).Run(); }

}  // namespace yardmaster::op
