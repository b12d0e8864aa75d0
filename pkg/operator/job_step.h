// One look at a TrainingJob: which workers to make, which to remove, and what its status says.
// Pure; the controller around it reads the objects and carries the actions out, and calls again
// when they change.
//
// Rules:
//   1. A rank without a pod gets one (behind the gate), unless the job has ended.
//   2. A pod on a host that has been lost for `host_lost_after_ms` is removed by force, because no
//   kubelet
//      is there to end it; rule 1 then makes the pod that moves to a backup host. By policy the
//      other workers are made again with it, or the job fails.
//   3. A failed pod is removed and made again while the job has restarts left; without one left the
//   job
//      has failed, and what still runs is removed.
//   4. When every worker has succeeded, the job has.
// Level triggered: the same observation gives the same actions. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace yardmaster::op {

enum class HostLoss {
  kReplace,  // the lost rank alone moves
  kRestart,  // every worker is made again, those on healthy hosts where they are
  kFail      // the job fails
};

struct RecoveryPolicy {
  HostLoss on_host_loss = HostLoss::kReplace;
  std::int64_t host_lost_after_ms = 30'000;
  int max_restarts = 10;  // failed workers made again over the job's life
};

enum class WorkerPhase { kMissing, kGated, kPending, kRunning, kSucceeded, kFailed };

struct Worker {
  WorkerPhase phase = WorkerPhase::kMissing;
  bool deleting = false;
  std::string uid;
  std::string host;  // empty: not bound
  // How long its host has been NotReady or gone; nothing: it is fine.
  std::optional<std::int64_t> host_lost_ms;
};

struct JobObservation {
  std::vector<Worker> workers;  // by rank
  int restarts = 0;             // so far
  bool ended = false;           // a former look found it succeeded or failed
};

enum class RemovalCause { kHostLost, kRestart, kFailed, kJobFailed };

struct Removal {
  int rank = 0;
  std::string uid;
  RemovalCause cause = RemovalCause::kFailed;
  bool force = false;  // grace period 0
};

enum class JobOutcome { kRunning, kSucceeded, kFailed };

struct JobStep {
  std::vector<int> create;      // ranks, ascending
  std::vector<Removal> remove;  // by rank
  int restarts = 0;             // to be kept in the status
  JobOutcome outcome = JobOutcome::kRunning;
  bool failed_by_host = false;  // kFailed because a host was lost, not because a worker failed
  int ready = 0;                // running workers on hosts that are fine
  int succeeded = 0;
  int waiting = 0;                            // missing, gated or pending
  std::optional<std::int64_t> look_again_ms;  // when a lost host's time will be up
};

JobStep NextStep(const JobObservation& job, const RecoveryPolicy& policy);

}  // namespace yardmaster::op
