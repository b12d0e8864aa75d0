#include "pkg/api/training_job.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/kept_metadata.h"
#include "pkg/api/names.h"
#include "pkg/api/pod_requests.h"
#include "pkg/api/time_field.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr std::string_view kRequestNames[] = {"Signal", "Annotation", "Command"};
constexpr std::string_view kMarkNames[] = {"Annotation", "File"};
constexpr std::string_view kSuccessNames[] = {"AllWorkers", "RankZero", "Role"};
constexpr std::string_view kCleanPodNames[] = {"Running", "All"};
constexpr TextRule kDirectory = {
    1024, 0, [](std::string_view text) { return text.starts_with('/'); }, "an absolute path"};

void ReadCheckpointPolicy(FieldReader checkpoint, TrainingJob& job) {
  job.checkpoint.interval_seconds = checkpoint.Int("intervalSeconds", 0, 0, kMaxSeconds);
  job.checkpoint.cost_seconds =
      checkpoint.Int("costSeconds", job.checkpoint.cost_seconds, 0, kMaxSeconds);
  job.checkpoint.grace_seconds =
      checkpoint.Int("graceSeconds", job.checkpoint.grace_seconds, 0, kMaxSeconds);
  job.checkpoint.request = checkpoint.Enum("request", kRequestNames, job.checkpoint.request);
  job.checkpoint.command = checkpoint.Strings("command", {64, 1}, {4096, 1});
  job.checkpoint.mark = checkpoint.Enum("mark", kMarkNames, job.checkpoint.mark);
  const bool by_command = job.checkpoint.request == CheckpointRequest::kCommand;
  if (by_command == job.checkpoint.command.empty()) {
    checkpoint.errors().Add(checkpoint.PathOf("command"),
                            by_command ? "is missing" : "is given and request is not Command",
                            by_command ? "say what asks the program for a checkpoint"
                                       : "leave it out, or set spec.checkpoint.request to Command");
  }
  job.checkpoint.directory = checkpoint.String("directory", kDirectory);
  job.checkpoint.claim = checkpoint.String("claim", NotEmpty(kObjectName));
  if (!job.checkpoint.claim.empty() && job.checkpoint.directory.empty()) {
    checkpoint.errors().Add(checkpoint.PathOf("claim"), "has no directory to be mounted at",
                            "give spec.checkpoint.directory");
  }
  checkpoint.Close();
}

void ReadPolicies(FieldReader& spec, TrainingJob& job) {
  job.recovery = ReadRecoveryPolicy(spec);
  ReadCheckpointPolicy(spec.Object("checkpoint"), job);
  job.capacity = ReadCapacityPolicy(spec);
  job.gpu_model = spec.String("gpuModel", kLabelValue);
}

void ReadRunPolicy(FieldReader& spec, RunPolicy& run) {
  run.suspended = spec.Bool("suspend", false);
  run.managed_by = spec.String("managedBy", NotEmpty(kLabelValue));
  if (spec.has("activeDeadlineSeconds")) {
    run.active_deadline_seconds = spec.Int64("activeDeadlineSeconds", 1, 1, kMaxSeconds);
  }
  if (spec.has("ttlSecondsAfterFinished")) {
    run.ttl_seconds_after_finished = spec.Int64("ttlSecondsAfterFinished", 0, 0, kMaxSeconds);
  }
  run.success = spec.Enum("successPolicy", kSuccessNames, run.success);
  run.success_role = spec.String("successRole", TextRule{kRoleName.max_length, 1});
  run.clean_pods = spec.Enum("cleanPodPolicy", kCleanPodNames, run.clean_pods);
}

void CheckSuccessRole(FieldReader& spec, const TrainingJob& job) {
  const std::string& role = job.run.success_role;
  const bool by_role = job.run.success == SuccessPolicy::kRole;
  if (by_role == role.empty()) {
    spec.errors().Add(spec.PathOf("successRole"),
                      by_role ? "is missing" : "is given and successPolicy is not Role",
                      by_role ? "name the role that has to succeed" : "leave it out");
  } else if (by_role && std::none_of(job.roles.begin(), job.roles.end(),
                                     [&](const JobRole& other) { return other.name == role; })) {
    spec.errors().Add(spec.PathOf("successRole"), StrCat(role, " is not among spec.roles"),
                      "name one of them");
  }
}

void EncodeRunPolicy(const RunPolicy& run, json& spec) {
  if (run.suspended) spec["suspend"] = true;
  if (!run.managed_by.empty()) spec["managedBy"] = run.managed_by;
  if (run.active_deadline_seconds) spec["activeDeadlineSeconds"] = *run.active_deadline_seconds;
  if (run.ttl_seconds_after_finished) {
    spec["ttlSecondsAfterFinished"] = *run.ttl_seconds_after_finished;
  }
  spec["successPolicy"] = kSuccessNames[static_cast<std::size_t>(run.success)];
  if (!run.success_role.empty()) spec["successRole"] = run.success_role;
  spec["cleanPodPolicy"] = kCleanPodNames[static_cast<std::size_t>(run.clean_pods)];
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
  job.priority_class = spec.String("priorityClassName", kObjectName);
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
  FieldReader pod = spec.OpenObject("template").OpenObject("spec");
  job.constraints = ReadPodConstraints(pod);
  job.constraints.gpu_model = job.gpu_model;
  job.constraints.capacity_types = job.capacity.types;
  ReadTemplateRequests(spec, pod, job);
  ReadPriorityClass(spec, pod, job);
  job.pod_template = PodTemplate::Read(spec, "template");
}

void CheckTemplateBytes(FieldReader& spec, const TrainingJob& job) {
  std::size_t bytes = job.pod_template.bytes();
  for (const JobRole& role : job.roles) bytes += role.pod_template.bytes();
  if (bytes <= PodTemplate::kMaxBytes) return;
  spec.errors().Add(spec.PathOf("roles"),
                    StrCat("and spec.template have templates of ", bytes, " bytes, and at most ",
                           PodTemplate::kMaxBytes, " are taken for a job"),
                    "put files and scripts into a ConfigMap or the image");
}

// The command becomes the first container's preStop hook, and a container has one.
void CheckCheckpointHook(FieldReader& spec, const TrainingJob& job) {
  if (job.checkpoint.request != CheckpointRequest::kCommand) return;
  if (!job.pod_template.has_pre_stop_hook()) return;
  spec.errors().Add(spec.PathOf("checkpoint") + ".command",
                    "the first container of spec.template has a lifecycle.preStop of its own",
                    "leave one of the two out");
}

TrainingJobStatus ReadJobStatus(FieldReader in) {
  TrainingJobStatus status;
  status.observed_generation = in.Int64("observedGeneration", 0, 0, INT64_MAX);
  status.conditions = ReadConditions(in);
  status.workers = in.Int("workers", 0, 0, kMaxJobWorkers);
  status.ready_workers = in.Int("readyWorkers", 0, 0, kMaxJobWorkers);
  status.succeeded_workers = in.Int("succeededWorkers", 0, 0, kMaxJobWorkers);
  status.roles = ReadRoleStatus(in);
  for (FieldReader& segment : in.Objects("segments", {4096})) {
    status.segments.push_back({segment.String("fabricPod", kLabelValue),
                               segment.RequiredString("segment", kLabelValue),
                               segment.Int("workers", 0, 0, kMaxJobWorkers)});
    segment.Close();
  }
  if (in.has("intensity")) status.intensity = in.Number("intensity", 0, 0, 1e300);
  if (in.has("level")) status.level = in.Int("level", 0, 0, 63);
  status.restarts = in.Int("restarts", 0, 0, INT32_MAX);
  status.start_ms = in.TimeMs("startTime");
  status.completion_ms = in.TimeMs("completionTime");
  FieldReader checkpoint = in.Object("checkpoint");
  status.checkpoint.last_ms = checkpoint.TimeMs("lastTime");
  status.checkpoint.cost_seconds = checkpoint.Number("costSeconds", 0, 0, 1e9);
  status.checkpoint.interval_seconds =
      checkpoint.Int("recommendedIntervalSeconds", 0, 0, INT32_MAX);
  checkpoint.Close();
  for (FieldReader& lost : in.Objects("lostWork", {.max_entries = 16, .map_key = "cause"})) {
    status.lost_gpu_seconds[lost.RequiredString("cause", TextRule{64})] =
        lost.Number("gpuSeconds", 0, 0, 1e18);
    lost.Close();
  }
  status.rendezvous_port = in.Int("rendezvousPort", 0, 0, 65'535);
  status.elastic = ReadElasticStatus(in);
  status.recovery = ReadRecoveryState(in.Object("recovery"));
  status.capacity = ReadCapacityStatus(in.Object("capacity"));
  in.Close();
  return status;
}

}  // namespace

absl::StatusOr<TrainingJob> DecodeTrainingJob(JsonView object, UnknownFields unknown) {
  FieldErrors errors;
  FieldReader in(object, "", unknown, &errors);
  ReadTypeMeta(in, kGroupVersion, kTrainingJobKind);
  TrainingJob job;
  job.metadata = ReadMetadata(in, Namespaced::kYes,
                              unknown == UnknownFields::kIgnore ? &KeptOfWorkloads() : nullptr);
  FieldReader spec = in.Object("spec");
  job.job = ReadJobSpec(spec);
  ReadPolicies(spec, job);
  ReadRunPolicy(spec, job.run);
  ReadTemplate(spec, job);
  job.roles = ReadRoles(spec, job.metadata.name, job.job.gpu_resource);
  CheckTemplateBytes(spec, job);
  CheckSuccessRole(spec, job);
  CheckCheckpointHook(spec, job);
  job.elastic = ReadElasticPolicy(spec, job.job);
  spec.Close();
  job.status = ReadJobStatus(in.Object("status"));
  if (job.elastic.enabled && errors.empty()) {
    const int data = job.status.elastic.data;
    SetData(job.job, WorkersOf(job.job, data) ? data : job.elastic.wished_data);
  }
  job.own_constraints = job.constraints;
  AddRental(job.status.capacity, job.metadata.uid, job.constraints);
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
  if (!status.roles.empty()) out["roles"] = EncodeRoleStatus(status.roles);
  if (status.intensity) out["intensity"] = *status.intensity;
  if (status.level) out["level"] = *status.level;
  EncodeTime("startTime", status.start_ms, out);
  EncodeTime("completionTime", status.completion_ms, out);
  if (status.checkpoint != CheckpointStatus{}) {
    json& checkpoint = out["checkpoint"];
    EncodeTime("lastTime", status.checkpoint.last_ms, checkpoint);
    if (status.checkpoint.cost_seconds > 0) {
      checkpoint["costSeconds"] = status.checkpoint.cost_seconds;
    }
    if (status.checkpoint.interval_seconds > 0) {
      checkpoint["recommendedIntervalSeconds"] = status.checkpoint.interval_seconds;
    }
  }
  for (const auto& [cause, seconds] : status.lost_gpu_seconds) {
    out["lostWork"].push_back({{"cause", cause}, {"gpuSeconds", seconds}});
  }
  if (status.rendezvous_port != 0) out["rendezvousPort"] = status.rendezvous_port;
  if (status.elastic != ElasticStatus{}) out["elastic"] = EncodeElasticStatus(status.elastic);
  out["recovery"] = EncodeRecoveryState(status.recovery);
  out["capacity"] = EncodeCapacityStatus(status.capacity);
  return out;
}

json EncodeTrainingJob(const TrainingJob& job) {
  json spec = json::object();
  EncodeJobSpec(job.job, spec);
  EncodeElasticPolicy(job.elastic, spec);
  spec["recovery"] = EncodeRecoveryPolicy(job.recovery);
  spec["checkpoint"] = {
      {"intervalSeconds", job.checkpoint.interval_seconds},
      {"costSeconds", job.checkpoint.cost_seconds},
      {"graceSeconds", job.checkpoint.grace_seconds},
      {"request", kRequestNames[static_cast<std::size_t>(job.checkpoint.request)]},
      {"mark", kMarkNames[static_cast<std::size_t>(job.checkpoint.mark)]}};
  if (!job.checkpoint.command.empty()) spec["checkpoint"]["command"] = job.checkpoint.command;
  if (!job.checkpoint.directory.empty()) spec["checkpoint"]["directory"] = job.checkpoint.directory;
  if (!job.checkpoint.claim.empty()) spec["checkpoint"]["claim"] = job.checkpoint.claim;
  if (json capacity = EncodeCapacityPolicy(job.capacity); !capacity.is_null()) {
    spec["capacity"] = std::move(capacity);
  }
  if (!job.priority_class.empty()) spec["priorityClassName"] = job.priority_class;
  EncodeRunPolicy(job.run, spec);
  if (!job.roles.empty()) spec["roles"] = EncodeRoles(job.roles);
  if (!job.gpu_model.empty()) spec["gpuModel"] = job.gpu_model;
  spec["template"] = job.pod_template.ToJson();
  json out = {{"apiVersion", kGroupVersion},
              {"kind", kTrainingJobKind},
              {"metadata", EncodeMetadata(job.metadata)},
              {"spec", std::move(spec)}};
  if (job.status != TrainingJobStatus{}) out["status"] = EncodeTrainingJobStatus(job.status);
  return out;
}

}  // namespace yardmaster::api
