// Recovery of a TrainingJob: spec.recovery, which a user writes, and status.recovery, which holds
// what the operator decided about failures. Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/field_visitor.h"

namespace yardmaster::api {

// What happens when a worker's host is lost.
enum class OnHostLoss {
  kReplace,  // the rank moves to another host, the other pods stay
  kRestart,  // all workers restart, in place or recreated on the same hosts where they still are
  kFail
};

// Which workers restart where OnHostLoss::kRestart is asked for.
enum class RestartUnit {
  kJob,       // all of them
  kDataGroup  // those of the data groups concerned (workload/data_groups.h); the others go on
};

// What follows when a worker fails in a way that a rule describes.
enum class FailureAction {
  kIgnore,   // as onWorkerFailure (Restart for Fail), and does not count against the restart budget
  kReplace,  // the failed rank alone is recreated
  kRestart,  // all workers restart, as with OnHostLoss::kRestart
  kFail,     // the job fails
  // As onWorkerFailure (Restart for Fail), and the job avoids the host of the worker that failed
  // first for a day.
  kReplaceHost
};

// Matches a failed worker by the exit code of a container or by a pod condition that is True.
// Exactly one of `exit_codes` and `pod_condition` is given.
struct FailureRule {
  FailureAction action = FailureAction::kIgnore;
  std::string container;  // empty: any
  bool not_in = false;    // matches every exit code but 0 and `exit_codes`
  std::vector<int> exit_codes;
  std::string pod_condition;  // condition type, for example "DisruptionTarget"
  bool operator==(const FailureRule&) const = default;

  void Describe(FieldVisitor& fields);
};

// What happens when a whole segment is lost in which the job has workers.
enum class OnSegmentLoss {
  kMove,  // as onHostLoss; the ranks there move to other segments together
  kWait   // they stay until the segment is back
};

// What happens when one host holds the job back, because NIC ports of it, or uplinks behind them,
// are down.
enum class OnBandwidthLoss {
  kKeep,    // the job goes on at the pace of that host
  kReplace  // as onHostLoss, once a host that would not hold it back is free
};

// What happens when one host holds the job back, because the worker there computes longer than the
// workers that do the same.
enum class OnSlowHost {
  kKeep,    // the job goes on at the pace of that host
  kReplace  // as onHostLoss, once another host is free
};

// What happens when the workers run and make no progress.
enum class OnStall {
  kKeep,    // the job waits; its condition and an event say so
  kRestart  // all workers restart; without the host of the only suspect, where there is one
};

struct RecoveryPolicy {
  OnHostLoss on_host_loss = OnHostLoss::kRestart;
  OnSegmentLoss on_segment_loss = OnSegmentLoss::kMove;
  OnBandwidthLoss on_bandwidth_loss = OnBandwidthLoss::kKeep;
  OnSlowHost on_slow_host = OnSlowHost::kKeep;
  OnHostLoss on_worker_failure = OnHostLoss::kRestart;
  RestartUnit unit = RestartUnit::kJob;
  int host_grace_seconds = 30;          // NotReady for that long: treated as lost
  int max_restarts = 10;                // within one window; then the job fails
  int restart_window_seconds = 21'600;  // the budget is full again this long after its first use
  int backoff_seconds = 10;             // before the second restart in a row; doubles with each
  int max_backoff_seconds = 300;
  // How long a container may take to restart inside its pod before the pod is recreated; 0: pods
  // are always recreated.
  int in_place_seconds = 120;
  std::vector<FailureRule> rules;  // the first that matches decides
  OnStall on_stall = OnStall::kKeep;
  // How long no iteration ends before the job counts as stalled, where nothing but that is known;
  // 0: ten minutes.
  int stall_seconds = 0;
  // Hosts on which the images of the workers are kept for replacements (standby.h).
  int standby = 0;
  bool operator==(const RecoveryPolicy&) const = default;

  void Describe(FieldVisitor& fields);
};

enum class IncidentCause {
  kHostLost,
  kWorkerFailed,
  kWorkerRemoved,
  kDeadlineExceeded,
  kHostFault,
  kSegmentLost,
  kDomainLost,
  kSlowHost,
  kStalled,
  kMoved  // to other hosts, for a better place or to make one for others (job_move.h)
};
inline constexpr std::string_view kIncidentCauseNames[] = {
    "HostLost",    "WorkerFailed", "WorkerRemoved", "DeadlineExceeded", "HostFault",
    "SegmentLost", "DomainLost",   "SlowHost",      "Stalled",          "Moved"};

// One decision to recover, or to fail, and how far it has come. All failures that belong together
// are one incident.
struct Incident {
  std::int64_t attempt = 0;  // the attempt that it began; names the incident
  IncidentCause cause = IncidentCause::kWorkerFailed;
  OnHostLoss action = OnHostLoss::kRestart;
  bool counted = false;  // against the restart budget
  // Members (job_role.h) that caused it, ascending; with kReplace exactly those whose pods restart
  // or move: where the unit is the data group, all of it.
  std::vector<int> ranks;
  // The rank that was lost or failed first, and its host; -1 and empty: unknown.
  int first_rank = -1;
  std::string host;
  std::string segment = {};      // kSegmentLost: "fabricPod/segment"
  std::string domain = {};       // kDomainLost: "fabricPod/segment/domain"
  bool blames_host = false;      // recorded as a failure of the host (host_record.h)
  std::optional<int> exit_code;  // of the worker that failed first
  std::string message;
  std::int64_t start_ms = 0;
  std::int64_t not_before_ms = 0;  // no pod is made earlier (back-off)
  std::int64_t end_ms = 0;         // every worker runs again; 0: not yet
  bool operator==(const Incident&) const = default;

  void Describe(FieldVisitor& fields);
};

// A host that new pods of the job are not placed on.
struct AvoidedHost {
  std::string host;
  std::int64_t until_ms = 0;
  bool operator==(const AvoidedHost&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Text("host", host, kObjectName, Required("Name of the Node.").Always());
    fields.Time("until", until_ms, "From then on it is used again.");
  }
};

inline constexpr std::size_t kKeptIncidents = 10;

// What is decided about failures. Written before it is acted on, so that any leader carries on.
// A pod belongs to the attempt in its annotation yardmaster.dev/attempt.
struct RecoveryState {
  std::int64_t attempt = 0;           // of pods made from now on
  std::int64_t min_attempt = 0;       // pods of an earlier attempt are removed
  std::int64_t running_attempt = -1;  // the last attempt in which all workers ran together
  std::int64_t window_start_ms = 0;   // of the restart budget
  int restarts_in_window = 0;
  int consecutive_restarts = 0;           // without ten minutes of all workers running between them
  std::vector<Incident> incidents;        // oldest first, the last kKeptIncidents
  std::vector<AvoidedHost> avoided = {};  // by host
  // It was suspended; its pods are removed. Cleared by the resumption, which begins another
  // attempt.
  bool suspended = false;
  // A checkpoint was asked for before the job is stopped; 0: none is awaited.
  std::int64_t checkpoint_requested_ms = 0;
  bool operator==(const RecoveryState&) const = default;

  // The incident that is not over, or null.
  const Incident* active() const {
    return incidents.empty() || incidents.back().end_ms != 0 ? nullptr : &incidents.back();
  }
  void Describe(FieldVisitor& fields);
};

}  // namespace yardmaster::api
