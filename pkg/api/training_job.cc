#include "pkg/api/training_job.h"

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/pod_requests.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr std::string_view kHostLossNames[] = {"Replace", "Restart", "Fail"};
constexpr int kMaxSeconds = 31'536'000;
constexpr int kMaxWorkers = 1'000'000;

void ReadPolicies(FieldReader& spec, TrainingJob& job) {
  FieldReader recovery = spec.Object("recovery");
  job.recovery.on_host_loss =
      recovery.Enum("onHostLoss", kHostLossNames, job.recovery.on_host_loss);
  job.recovery.host_grace_seconds =
      recovery.Int("hostGraceSeconds", job.recovery.host_grace_seconds, 0, kMaxSeconds);
  job.recovery.max_restarts = recovery.Int("maxRestarts", job.recovery.max_restarts, 0, 1'000'000);
  recovery.Close();
  FieldReader checkpoint = spec.Object("checkpoint");
  job.checkpoint.interval_seconds = checkpoint.Int("intervalSeconds", 0, 0, kMaxSeconds);
  job.checkpoint.grace_seconds =
      checkpoint.Int("graceSeconds", job.checkpoint.grace_seconds, 0, kMaxSeconds);
  checkpoint.Close();
  FieldReader capacity = spec.Object("capacity");
  job.capacity_types = ReadCapacityTypes(capacity, "types");
  capacity.Close();
  job.gpu_model = spec.String("gpuModel");
}

void ReadTemplateRequests(FieldReader& spec, FieldReader& pod, TrainingJob& job) {
  ObjectMeta metadata;
  metadata.namespace_name = job.metadata.namespace_name;
  metadata.labels = spec.OpenObject("template").OpenObject("metadata").StringMap("labels");
  metadata.labels[kJobLabel] = job.metadata.name;
  FieldReader no_status(nullptr, "status", UnknownFields::kIgnore, &spec.errors());
  job.requests = ReadPodRequests(pod, no_status, metadata);
  const std::int64_t gpus = workload::AmountOf(job.requests, job.job.gpu_resource);
  if (gpus != 0 && gpus != job.job.gpus_per_worker) {
    spec.errors().Add(spec.PathOf("template") + ".spec.containers",
                      StrCat("ask for ", Count(gpus, "GPU"), " and spec.gpusPerWorker is ",
                             job.job.gpus_per_worker),
                      "make both equal, or leave the GPUs out of the template");
  }
  workload::SetAmount(job.requests, job.job.gpu_resource, job.job.gpus_per_worker);
}

// One name for the class, in the job or in its template, and no number beside it.
void ReadPriorityClass(FieldReader& spec, FieldReader& pod, TrainingJob& job) {
  job.priority_class = spec.String("priorityClassName");
  const std::string in_template = pod.String("priorityClassName");
  if (job.priority_class.empty()) return;
  if (job.job.priority != 0) {
    spec.errors().Add(spec.PathOf("priorityClassName"),
                      "spec.priority is another way to say the same", "leave spec.priority out");
  }
  if (!in_template.empty() && in_template != job.priority_class) {
    spec.errors().Add(
        spec.PathOf("template") + ".spec.priorityClassName",
        StrCat("is ", in_template, " and spec.priorityClassName is ", job.priority_class),
        "leave it out of the template");
  }
}

void ReadTemplate(FieldReader& spec, TrainingJob& job) {
  const json* written = spec.Raw("template");
  FieldReader pod = spec.OpenObject("template").OpenObject("spec");
  job.constraints = ReadPodConstraints(pod);
  job.constraints.gpu_model = job.gpu_model;
  job.constraints.capacity_types = job.capacity_types;
  ReadTemplateRequests(spec, pod, job);
  ReadPriorityClass(spec, pod, job);
  job.pod_template = std::make_shared<const json>(
      written != nullptr && written->is_object() ? *written : json::object());
}

TrainingJobStatus ReadStatus(FieldReader in) {
  TrainingJobStatus status;
  status.observed_generation = in.Int64("observedGeneration", 0, 0, INT64_MAX);
  status.conditions = ReadConditions(in);
  status.workers = in.Int("workers", 0, 0, kMaxWorkers);
  status.ready_workers = in.Int("readyWorkers", 0, 0, kMaxWorkers);
  status.succeeded_workers = in.Int("succeededWorkers", 0, 0, kMaxWorkers);
  for (FieldReader& segment : in.Objects("segments")) {
    status.segments.push_back({segment.String("fabricPod"), segment.RequiredString("segment"),
                               segment.Int("workers", 0, 0, kMaxWorkers)});
    segment.Close();
  }
  if (in.has("intensity")) status.intensity = in.Number("intensity", 0, 0, 1e300);
  if (in.has("level")) status.level = in.Int("level", 0, 0, 63);
  status.restarts = in.Int("restarts", 0, 0, INT32_MAX);
  in.Close();
  return status;
}

}  // namespace

absl::StatusOr<TrainingJob> DecodeTrainingJob(const json& object, UnknownFields unknown) {
  FieldErrors errors;
  FieldReader in(&object, "", unknown, &errors);
  ReadTypeMeta(in, kGroupVersion, kTrainingJobKind);
  TrainingJob job;
  job.metadata = ReadMetadata(in, Namespaced::kYes);
  FieldReader spec = in.Object("spec");
  job.job = ReadJobSpec(spec);
  ReadPolicies(spec, job);
  ReadTemplate(spec, job);
  spec.Close();
  job.status = ReadStatus(in.Object("status"));
  in.Close();
  if (!errors.empty()) return errors.status();
  return job;
}

json EncodeTrainingJobStatus(const TrainingJobStatus& status) {
  json out = {{"observedGeneration", status.observed_generation},
              {"conditions", EncodeConditions(status.conditions)},
              {"workers", status.workers},
              {"readyWorkers", status.ready_workers},
              {"succeededWorkers", status.succeeded_workers},
              {"restarts", status.restarts}};
  json segments = json::array();
  for (const SegmentUse& use : status.segments) {
    segments.push_back(
        {{"fabricPod", use.fabric_pod}, {"segment", use.segment}, {"workers", use.workers}});
  }
  out["segments"] = std::move(segments);
  if (status.intensity) out["intensity"] = *status.intensity;
  if (status.level) out["level"] = *status.level;
  return out;
}

json EncodeTrainingJob(const TrainingJob& job) {
  json spec = json::object();
  EncodeJobSpec(job.job, spec);
  spec["recovery"] = {
      {"onHostLoss", kHostLossNames[static_cast<std::size_t>(job.recovery.on_host_loss)]},
      {"hostGraceSeconds", job.recovery.host_grace_seconds},
      {"maxRestarts", job.recovery.max_restarts}};
  spec["checkpoint"] = {{"intervalSeconds", job.checkpoint.interval_seconds},
                        {"graceSeconds", job.checkpoint.grace_seconds}};
  if (!job.capacity_types.empty()) {
    spec["capacity"] = {{"types", EncodeCapacityTypes(job.capacity_types)}};
  }
  if (!job.priority_class.empty()) spec["priorityClassName"] = job.priority_class;
  if (!job.gpu_model.empty()) spec["gpuModel"] = job.gpu_model;
  spec["template"] = *job.pod_template;
  json out = {{"apiVersion", kGroupVersion},
              {"kind", kTrainingJobKind},
              {"metadata", EncodeMetadata(job.metadata)},
              {"spec", std::move(spec)}};
  if (job.status != TrainingJobStatus{}) out["status"] = EncodeTrainingJobStatus(job.status);
  return out;
}

}  // namespace yardmaster::api
