// TrainingJob: the spec that a user writes, and the status that the operator writes.
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/capacity_policy.h"
#include "pkg/api/capacity_status.h"
#include "pkg/api/condition.h"
#include "pkg/api/elastic.h"
#include "pkg/api/job_move.h"
#include "pkg/api/job_role.h"
#include "pkg/api/job_spec.h"
#include "pkg/api/metadata.h"
#include "pkg/api/pod_template.h"
#include "pkg/api/queue_status.h"
#include "pkg/api/recovery.h"
#include "pkg/api/standby.h"

namespace yardmaster::api {

inline constexpr char kTrainingJobKind[] = "TrainingJob";

// How a job that is about to be stopped is asked for a checkpoint.
enum class CheckpointRequest {
  kSignal,      // by SIGTERM, when its pods are deleted
  kAnnotation,  // by yardmaster.dev/checkpoint-request on its pods, before they are deleted
  kCommand      // by a command that kubelets run in its containers, when its pods are deleted
};
// How it says that a checkpoint is complete.
enum class CheckpointMarkBy {
  kAnnotation,  // yardmaster.dev/checkpoint of one of its pods
  kFile         // a file that the agent of the pod's node passes on as that annotation
};

struct CheckpointPolicy {
  CheckpointRequest request = CheckpointRequest::kSignal;
  std::vector<std::string> command = {};  // with kCommand: what is run, without a shell
  CheckpointMarkBy mark = CheckpointMarkBy::kAnnotation;
  std::string directory;     // absolute path, in every container's environment; empty: none
  std::string claim;         // PersistentVolumeClaim mounted there; empty: none
  int interval_seconds = 0;  // how often the job writes one; 0: unknown
  int cost_seconds = 60;     // expected time of one, until the job reports it
  int grace_seconds = 120;   // time to write one before the job is stopped
  bool operator==(const CheckpointPolicy&) const = default;

  void Describe(FieldVisitor& fields);
};

// What has to succeed: every worker, rank 0, or every pod of one role.
enum class SuccessPolicy { kAllWorkers, kRankZero, kRole };
// Which pods are removed once the job has ended.
enum class CleanPodPolicy { kRunning, kAll };

// Which pods' names the job's Service resolves.
enum class PublishedNames {
  kAuto,      // those of all pods of a job that is elastic, has roles or restarts by data group;
              // else that of rank 0
  kRankZero,  // the name in MASTER_ADDR
  kAll
};

// Whether a running job may be moved to other hosts for a better place, or to make one for others.
enum class Movable {
  kAtCheckpoint,  // once it has been asked for a checkpoint
  kNever
};

// How long the job runs, whether it may be moved, and what is left of it.
struct RunPolicy {
  bool suspended = false;
  std::string managed_by;                               // empty or kManagedByOperator: the operator
  std::optional<std::int64_t> active_deadline_seconds;  // counted from status.start_ms
  std::optional<std::int64_t> ttl_seconds_after_finished;
  SuccessPolicy success = SuccessPolicy::kAllWorkers;
  CleanPodPolicy clean_pods = CleanPodPolicy::kRunning;
  std::string success_role = {};  // with SuccessPolicy::kRole
  PublishedNames publish = PublishedNames::kAuto;
  Movable movable = Movable::kAtCheckpoint;
  bool operator==(const RunPolicy&) const = default;

  // Fields of `spec`, beside the others.
  void Describe(FieldVisitor& spec);
};
// On jobs that are asked for a checkpoint by annotation or have a ComputeDomain: deleted, they keep
// their object until no pod is left.
inline constexpr char kShutdownFinalizer[] = "yardmaster.dev/shutdown";
inline constexpr char kManagedByOperator[] = "yardmaster.dev/operator";

struct SegmentUse {
  std::string fabric_pod;
  std::string segment;
  int workers = 0;
  bool operator==(const SegmentUse&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Text("fabricPod", fabric_pod, kLabelValue, About("Fabric pod.").Always());
    fields.Text("segment", segment, kLabelValue, Required("Segment.").Always());
    fields.Int("workers", workers, 0, kMaxJobWorkers, "Workers there.");
  }
};

struct CheckpointStatus {
  std::int64_t last_ms = 0;
  double cost_seconds = 0;   // 0: not known
  int interval_seconds = 0;  // recommended; 0: cost not known
  bool operator==(const CheckpointStatus&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Time("lastTime", last_ms, "When the last one was begun.");
    fields.Number("costSeconds", cost_seconds, 0, 1e9,
                  About("How long iterations stood still for it.").OmitAt(0));
    fields.Int(
        "recommendedIntervalSeconds", interval_seconds, 0, INT32_MAX,
        About("Time between checkpoints that loses least, from their cost and the time between "
              "incidents (Daly).")
            .OmitAt(0));
  }
};

struct TrainingJobStatus {
  std::int64_t observed_generation = 0;
  // Planned, Queued, Placed, Running, Degraded, Recovering, Suspended, Stalled, Preempted,
  // CapacityReady, Succeeded, Failed (docs/reference/events.md)
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
  QueueStatus queue;
  JobMove move;  // the last one that was asked for
  std::vector<Standby> standby;

  // The job has succeeded or failed.
  bool ended() const { return IsTrue(conditions, "Succeeded") || IsTrue(conditions, "Failed"); }
  bool operator==(const TrainingJobStatus&) const = default;

  void Describe(FieldVisitor& fields);
};

struct TrainingJob {
  ObjectMeta metadata;
  JobSpec job;                  // of an elastic job: at the size that it has (elastic.h)
  std::string priority_class;   // of the pods; empty: what the template says
  std::string gpu_model;        // node label nvidia.com/gpu.product; empty: any
  bool compute_domain = false;  // the workers have a ComputeDomain (compute_domain.h)
  CapacityPolicy capacity;
  RecoveryPolicy recovery;
  CheckpointPolicy checkpoint;
  RunPolicy run;
  std::vector<JobRole> roles;
  ElasticPolicy elastic;
  PodTemplate pod_template;
  // What template, gpu_model, capacity.types, the admitted flavors and the hosts that are rented
  // together ask of a node.
  NodeConstraints constraints;
  NodeConstraints own_constraints;  // without the hosts that are rented
  // What a worker's pod will ask of its host.
  workload::ResourceList requests;
  TrainingJobStatus status;

  // For processes that make no pods: templates and the checkpoint command read as empty from then
  // on.
  void DropTemplates() {
    pod_template = {};
    checkpoint.command = {};
    for (JobRole& role : roles) role.pod_template = {};
  }
  // The job's Service resolves the names of all pods, not only that of rank 0.
  bool publishes_all() const {
    return run.publish == PublishedNames::kAll ||
           (run.publish == PublishedNames::kAuto &&
            (elastic.enabled || !roles.empty() || recovery.unit == RestartUnit::kDataGroup));
  }
  // Workers and pods of roles.
  int members() const { return job.workers + ReplicasOf(roles); }
  // The time of one checkpoint: as the job has reported it, else as the spec has it.
  double checkpoint_seconds() const {
    return status.checkpoint.cost_seconds > 0 ? status.checkpoint.cost_seconds
                                              : checkpoint.cost_seconds;
  }
  // A reader fills in metadata before, since roles are named after it.
  void Describe(FieldVisitor& fields);
};

// Of a job whose data groups restart by themselves (RestartUnit::kDataGroup), that of each worker
// (workload/data_groups.h); empty: it restarts as a whole. O(GPUs of the job).
std::vector<int> RestartGroupsOf(const TrainingJob& job);

// With UnknownFields::kIgnore, of what the API server has, metadata is kept as kept_metadata.h
// says. Errors: InvalidArgument, one line per wrong field; templates and a checkpoint command of
// more than PodTemplate::kMaxBytes together, and contradictions among template, roles, checkpoint,
// capacity, priority and elastic fields are errors, too. Those of size, parallelism and placement
// are not checked here: see workload::Problems.
absl::StatusOr<TrainingJob> DecodeTrainingJob(JsonView object,
                                              UnknownFields unknown = UnknownFields::kReject);
nlohmann::json EncodeTrainingJob(const TrainingJob& job);
nlohmann::json EncodeTrainingJobStatus(const TrainingJobStatus& status);
nlohmann::json TrainingJobSchema();

}  // namespace yardmaster::api
