// TrainingJob: what the person who trains writes, and what the operator answers in its status.
// Thread safety: values and pure functions; the template is immutable and shared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/condition.h"
#include "pkg/api/job_spec.h"
#include "pkg/api/metadata.h"

namespace yardmaster::api {

inline constexpr char kTrainingJobKind[] = "TrainingJob";

// What happens when a worker's host is lost.
enum class OnHostLoss {
  kReplace,  // the rank moves to another host, the other pods stay
  kRestart,  // all pods are made anew, on the same hosts where they still are
  kFail
};

struct RecoveryPolicy {
  OnHostLoss on_host_loss = OnHostLoss::kReplace;
  int host_grace_seconds = 30;  // NotReady for that long counts as lost
  int max_restarts = 10;        // of all pods together; then the job fails
  bool operator==(const RecoveryPolicy&) const = default;
};

struct CheckpointPolicy {
  int interval_seconds = 0;  // how often the job writes one; 0: unknown
  int grace_seconds = 120;   // what it is given to write one before it is stopped
  bool operator==(const CheckpointPolicy&) const = default;
};

struct SegmentUse {
  std::string fabric_pod;
  std::string segment;
  int workers = 0;
  bool operator==(const SegmentUse&) const = default;
};

struct TrainingJobStatus {
  std::int64_t observed_generation = 0;
  std::vector<Condition> conditions;  // Planned, Running, Succeeded, Failed, Degraded
  int workers = 0;
  int ready_workers = 0;
  int succeeded_workers = 0;
  std::vector<SegmentUse> segments;
  std::optional<double> intensity;  // Crux: FLOP per second of communication
  std::optional<int> level;         // network priority, 0 lowest
  int restarts = 0;
  bool operator==(const TrainingJobStatus&) const = default;
};

struct TrainingJob {
  ObjectMeta metadata;
  JobSpec job;
  std::string priority_class;                // of the pods; empty: what the template says
  std::string gpu_model;                     // node label nvidia.com/gpu.product; empty: any
  std::vector<CapacityType> capacity_types;  // empty: any
  RecoveryPolicy recovery;
  CheckpointPolicy checkpoint;
  // The pod template as it was written; never null, may be an empty object.
  std::shared_ptr<const nlohmann::json> pod_template;
  // What template, gpu_model and capacity_types together ask of a node.
  NodeConstraints constraints;
  // What a worker's pod will ask of its host.
  workload::ResourceList requests;
  TrainingJobStatus status;
};

// Errors: InvalidArgument, one line per wrong field. Contradictions between fields are
// workload::Problems' business.
absl::StatusOr<TrainingJob> DecodeTrainingJob(const nlohmann::json& object,
                                              UnknownFields unknown = UnknownFields::kReject);
nlohmann::json EncodeTrainingJob(const TrainingJob& job);
nlohmann::json EncodeTrainingJobStatus(const TrainingJobStatus& status);

}  // namespace yardmaster::api
