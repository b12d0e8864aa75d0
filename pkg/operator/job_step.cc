#include "pkg/operator/job_step.h"

#include <algorithm>

namespace yardmaster::op {

namespace {

void Count(const Worker& worker, JobStep& step) {
  switch (worker.phase) {
    case WorkerPhase::kMissing:
    case WorkerPhase::kGated:
    case WorkerPhase::kPending:
      ++step.waiting;
      break;
    case WorkerPhase::kRunning:
      if (!worker.host_lost_ms && !worker.deleting) ++step.ready;
      break;
    case WorkerPhase::kSucceeded:
      ++step.succeeded;
      break;
    case WorkerPhase::kFailed:
      break;
  }
}

void LookAgain(JobStep& step, std::int64_t in_ms) {
  step.look_again_ms = step.look_again_ms ? std::min(*step.look_again_ms, in_ms) : in_ms;
}

// What runs or waits to run, as removals of one cause.
std::vector<Removal> AllLeft(const JobObservation& job, RemovalCause cause) {
  std::vector<Removal> removals;
  for (std::size_t rank = 0; rank < job.workers.size(); ++rank) {
    const Worker& worker = job.workers[rank];
    const bool left = worker.phase == WorkerPhase::kGated ||
                      worker.phase == WorkerPhase::kPending ||
                      worker.phase == WorkerPhase::kRunning;
    if (!left || worker.deleting) continue;
    const bool lost = worker.host_lost_ms.has_value();
    removals.push_back({static_cast<int>(rank), worker.uid, cause, lost});
  }
  return removals;
}

// Rules 1 to 3 for one worker. False: the job has failed (no restart left, or a host lost where the
// policy says so).
bool Recover(const Worker& worker, int rank, const RecoveryPolicy& policy, JobStep& step) {
  if (worker.phase == WorkerPhase::kMissing) {
    step.create.push_back(rank);
    return true;
  }
  const bool ended =
      worker.phase == WorkerPhase::kSucceeded || worker.phase == WorkerPhase::kFailed;
  if (worker.host_lost_ms && !ended) {
    if (*worker.host_lost_ms >= policy.host_lost_after_ms) {
      if (policy.on_host_loss == HostLoss::kFail) {
        step.failed_by_host = true;
        return false;
      }
      step.remove.push_back({rank, worker.uid, RemovalCause::kHostLost, true});
    } else {
      LookAgain(step, policy.host_lost_after_ms - *worker.host_lost_ms);
    }
    return true;
  }
  if (worker.phase != WorkerPhase::kFailed || worker.deleting) return true;
  if (step.restarts >= policy.max_restarts) return false;
  ++step.restarts;
  step.remove.push_back({rank, worker.uid, RemovalCause::kFailed, false});
  return true;
}

}  // namespace

JobStep NextStep(const JobObservation& job, const RecoveryPolicy& policy) {
  JobStep step;
  step.restarts = job.restarts;
  for (const Worker& worker : job.workers) Count(worker, step);
  if (step.succeeded == static_cast<int>(job.workers.size())) step.outcome = JobOutcome::kSucceeded;
  if (job.ended || step.outcome == JobOutcome::kSucceeded) return step;

  bool alive = true;
  for (std::size_t rank = 0; rank < job.workers.size(); ++rank) {
    alive &= Recover(job.workers[rank], static_cast<int>(rank), policy, step);
  }
  if (alive) {
    const bool host_lost =
        std::any_of(step.remove.begin(), step.remove.end(),
                    [](const Removal& r) { return r.cause == RemovalCause::kHostLost; });
    if (host_lost && policy.on_host_loss == HostLoss::kRestart) {
      step.remove = AllLeft(job, RemovalCause::kRestart);
    }
    return step;
  }
  step.outcome = JobOutcome::kFailed;
  step.restarts = job.restarts;
  step.create.clear();
  step.remove = AllLeft(job, RemovalCause::kJobFailed);
  return step;
}

}  // namespace yardmaster::op
