// TrainingJob: the spec that a user writes, and the status that the operator writes.
// Thread safety: values and pure functions; the template is immutable and shared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/capacity_policy.h"
#include "pkg/api/capacity_status.h"
#include "pkg/api/condition.h"
#include "pkg/api/elastic.h"
#include "pkg/api/job_role.h"
#include "pkg/api/job_spec.h"
#include "pkg/api/metadata.h"

namespace yardmaster::api {

inline constexpr char kTrainingJobKind[] = "TrainingJob";

// What happens when a worker's host is lost.
enum class OnHostLoss {
  kReplace,  // the rank moves to another host, the other pods stay
  kRestart,  // all workers restart, in place or made anew on the same hosts where they still are
  kFail
};

// What follows when a worker fails in a way that a rule describes.
enum class FailureAction {
  kIgnore,   // as onWorkerFailure, and does not count against the restart budget
  kReplace,  // the failed rank alone is made anew
  kRestart,  // all workers restart, as with OnHostLoss::kRestart
  kFail,     // the job fails
  // As onWorkerFailure, and the job avoids the host of the worker that failed first for a day.
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
};

struct RecoveryPolicy {
  OnHostLoss on_host_loss = OnHostLoss::kRestart;
  OnHostLoss on_worker_failure = OnHostLoss::kRestart;
  int host_grace_seconds = 30;          // NotReady for that long: treated as lost
  int max_restarts = 10;                // within one window; then the job fails
  int restart_window_seconds = 21'600;  // the budget is full again this long after its first use
  int backoff_seconds = 10;             // before the second restart in a row; doubles with each
  int max_backoff_seconds = 300;
  // How long a container may take to restart inside its pod before the pod is made anew; 0: pods are
  // always made anew.
  int in_place_seconds = 120;
  std::vector<FailureRule> rules;  // the first that matches decides
  bool operator==(const RecoveryPolicy&) const = default;
};

// How a job that is about to be stopped is asked for a checkpoint.
enum class CheckpointRequest {
  kSignal,     // by SIGTERM, when its pods are deleted
  kAnnotation  // by yardmaster.dev/checkpoint-request on its pods, before they are deleted
};

struct CheckpointPolicy {
  CheckpointRequest request = CheckpointRequest::kSignal;
  std::string directory;     // absolute path, in every container's environment; empty: none
  std::string claim;         // PersistentVolumeClaim mounted there; empty: none
  int interval_seconds = 0;  // how often the job writes one; 0: unknown
  int cost_seconds = 60;     // expected time of one, until the job reports it
  int grace_seconds = 120;   // time to write one before the job is stopped
  bool operator==(const CheckpointPolicy&) const = default;
};

// What has to succeed: every worker, rank 0, or every pod of one role.
enum class SuccessPolicy { kAllWorkers, kRankZero, kRole };
// Which pods are removed once the job has ended.
enum class CleanPodPolicy { kRunning, kAll };

// How long the job runs and what is left of it.
struct RunPolicy {
  bool suspended = false;
  std::string managed_by;                               // empty or kManagedByOperator: the operator
  std::optional<std::int64_t> active_deadline_seconds;  // counted from status.start_ms
  std::optional<std::int64_t> ttl_seconds_after_finished;
  SuccessPolicy success = SuccessPolicy::kAllWorkers;
  CleanPodPolicy clean_pods = CleanPodPolicy::kRunning;
  std::string success_role = {};  // with SuccessPolicy::kRole
  bool operator==(const RunPolicy&) const = default;
};
// On jobs that are asked for a checkpoint by annotation: deleted, they keep their object until no pod is left.
inline constexpr char kShutdownFinalizer[] = "yardmaster.dev/shutdown";
inline constexpr char kManagedByOperator[] = "yardmaster.dev/operator";

struct SegmentUse {
  std::string fabric_pod;
  std::string segment;
  int workers = 0;
  bool operator==(const SegmentUse&) const = default;
};

enum class IncidentCause {
  kHostLost,
  kWorkerFailed,
  kWorkerRemoved,
  kDeadlineExceeded,
  kHostFault
};

// One decision to recover, or to fail, and how far it has come. All failures that belong together
// are one incident.
struct Incident {
  std::int64_t attempt = 0;  // the attempt that it began; names the incident
  IncidentCause cause = IncidentCause::kWorkerFailed;
  OnHostLoss action = OnHostLoss::kRestart;
  bool counted = false;  // against the restart budget
  // Members (job_role.h) that caused it, ascending; with kReplace exactly those that move.
  std::vector<int> ranks;
  // The rank that was lost or failed first, and its host; -1 and empty: unknown.
  int first_rank = -1;
  std::string host;
  bool blames_host = false;      // recorded as a failure of the host (host_record.h)
  std::optional<int> exit_code;  // of the worker that failed first
  std::string message;
  std::int64_t start_ms = 0;
  std::int64_t not_before_ms = 0;  // no pod is made earlier (back-off)
  std::int64_t end_ms = 0;         // every worker runs again; 0: not yet
  bool operator==(const Incident&) const = default;
};

// A host that new pods of the job are not placed on.
struct AvoidedHost {
  std::string host;
  std::int64_t until_ms = 0;
  bool operator==(const AvoidedHost&) const = default;
};

// What is decided about failures. Written before it is acted on, so that any leader carries on.
// A pod belongs to the attempt in its annotation yardmaster.dev/attempt.
struct RecoveryState {
  std::int64_t attempt = 0;           // of pods made from now on
  std::int64_t min_attempt = 0;       // pods of an earlier attempt are removed
  std::int64_t running_attempt = -1;  // the last attempt in which all workers ran together
  std::int64_t window_start_ms = 0;   // of the restart budget
  int restarts_in_window = 0;
  int consecutive_restarts = 0;           // without ten minutes of all workers running between them
  std::vector<Incident> incidents;        // oldest first, the last ten
  std::vector<AvoidedHost> avoided = {};  // by host
  // It was suspended; its pods are removed. Cleared by the resumption, which begins another attempt.
  bool suspended = false;
  // A checkpoint was asked for before the job is stopped; 0: none is awaited.
  std::int64_t checkpoint_requested_ms = 0;
  bool operator==(const RecoveryState&) const = default;

  // The incident that is not over, or null.
  const Incident* active() const {
    return incidents.empty() || incidents.back().end_ms != 0 ? nullptr : &incidents.back();
  }
};

struct CheckpointStatus {
  std::int64_t last_ms = 0;  // the last one that the job has reported
  double cost_seconds = 0;   // how long iterations stood still for it; 0: not known
  int interval_seconds = 0;  // recommended; 0: cost not known
  bool operator==(const CheckpointStatus&) const = default;
};

struct TrainingJobStatus {
  std::int64_t observed_generation = 0;
  // Planned, Queued, Placed, Running, Degraded, Recovering, Suspended, Stalled, Preempted, Succeeded,
  // Failed
  std::vector<Condition> conditions;
  int workers = 0;  // 0 while it is suspended and has no pods
  int ready_workers = 0;
  int succeeded_workers = 0;
  std::vector<RoleStatus> roles;  // as in the spec
  std::vector<SegmentUse> segments;
  std::optional<double> intensity;  // Crux: FLOP per second of communication
  std::optional<int> level;         // network priority, 0 lowest
  int restarts = 0;                 // counted incidents over the job's life
  std::int64_t start_ms = 0;        // every worker ran for the first time since it was resumed
  std::int64_t completion_ms = 0;   // it succeeded or failed
  CheckpointStatus checkpoint;
  std::map<std::string, double> lost_gpu_seconds;  // by cause
  int rendezvous_port = 0;  // MASTER_PORT of jobs with hostNetwork; 0: not chosen
  ElasticStatus elastic;
  RecoveryState recovery;
  CapacityStatus capacity;

  // The job has succeeded or failed.
  bool ended() const { return IsTrue(conditions, "Succeeded") || IsTrue(conditions, "Failed"); }
  bool operator==(const TrainingJobStatus&) const = default;
};

struct TrainingJob {
  ObjectMeta metadata;
  JobSpec job;                 // of an elastic job: at the size that it has (elastic.h)
  std::string priority_class;  // of the pods; empty: what the template says
  std::string gpu_model;       // node label nvidia.com/gpu.product; empty: any
  CapacityPolicy capacity;
  RecoveryPolicy recovery;
  CheckpointPolicy checkpoint;
  RunPolicy run;
  std::vector<JobRole> roles;
  ElasticPolicy elastic;
  // The pod template as it was written; never null, may be an empty object.
  std::shared_ptr<const nlohmann::json> pod_template;
  // What template, gpu_model, capacity.types and the hosts that are rented together ask of a node.
  NodeConstraints constraints;
  NodeConstraints own_constraints;  // without the hosts that are rented
  // What a worker's pod will ask of its host.
  workload::ResourceList requests;
  TrainingJobStatus status;

  // Workers and pods of roles.
  int members() const { return job.workers + ReplicasOf(roles); }
  // The time of one checkpoint: as the job has reported it, else as the spec has it.
  double checkpoint_seconds() const {
    return status.checkpoint.cost_seconds > 0 ? status.checkpoint.cost_seconds
                                              : checkpoint.cost_seconds;
  }
};

// Errors: InvalidArgument, one line per wrong field. Contradictions between fields are
// workload::Problems' business.
absl::StatusOr<TrainingJob> DecodeTrainingJob(JsonView object,
                                              UnknownFields unknown = UnknownFields::kReject);
nlohmann::json EncodeTrainingJob(const TrainingJob& job);
nlohmann::json EncodeTrainingJobStatus(const TrainingJobStatus& status);

}  // namespace yardmaster::api
