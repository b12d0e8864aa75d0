#include "pkg/api/training_job.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/compute_domain.h"
#include "pkg/api/field_codec.h"
#include "pkg/api/field_schema.h"
#include "pkg/api/kept_metadata.h"
#include "pkg/api/names.h"
#include "pkg/api/pod_requests.h"
#include "pkg/base/strings.h"
#include "pkg/workload/data_groups.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr std::string_view kRequestNames[] = {"Signal", "Annotation", "Command"};
constexpr std::string_view kMarkNames[] = {"Annotation", "File"};
constexpr std::string_view kSuccessNames[] = {"AllWorkers", "RankZero", "Role"};
constexpr std::string_view kCleanPodNames[] = {"Running", "All"};
constexpr std::string_view kPublishNames[] = {"Auto", "RankZero", "All"};
constexpr std::string_view kMovableNames[] = {"AtCheckpoint", "Never"};
constexpr TextRule kDirectory = {
    1024, 0, [](std::string_view text) { return text.starts_with('/'); }, "an absolute path", "^/"};

void CheckCheckpointPolicy(FieldReader& in, const CheckpointPolicy& policy) {
  const bool by_command = policy.request == CheckpointRequest::kCommand;
  if (by_command == policy.command.empty()) {
    in.errors().Add(in.PathOf("command"),
                    by_command ? "is missing" : "is given and request is not Command",
                    by_command ? "say what asks the program for a checkpoint"
                               : "leave it out, or set spec.checkpoint.request to Command");
  }
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
  if (job.compute_domain) workload::SetAmount(job.requests, kChannelOfHost, 1);
}

// The workers get a claim of ours, and a domain of one of them would connect it to nothing.
void CheckComputeDomain(FieldReader& spec, const TrainingJob& job) {
  if (!job.compute_domain) return;
  if (job.job.workers == 1) {
    spec.errors().Add(spec.PathOf("computeDomain"),
                      "connects hosts, and the job has one worker, which stands on one",
                      "leave computeDomain out, or give the job more workers");
  }
  FieldReader pod = spec.OpenObject("template").OpenObject("spec");
  for (FieldReader& claim : pod.Objects("resourceClaims")) {
    if (claim.String("name") != kComputeDomainClaim) continue;
    spec.errors().Add(claim.PathOf("name"),
                      StrCat("is ", kComputeDomainClaim, ", the claim that computeDomain adds"),
                      "leave the claim out of the template, or computeDomain out of the job");
  }
}

// One name for the class, in the job or in its template, and no number beside it.
void CheckPriorityClass(FieldReader& spec, const TrainingJob& job) {
  const std::string in_template =
      spec.OpenObject("template").OpenObject("spec").String("priorityClassName");
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
  job.pod_template = PodTemplate::Read(spec, "template");
  if (job.pod_template.bytes() == 0) return;  // too large to look into
  FieldReader pod = spec.OpenObject("template").OpenObject("spec");
  job.constraints = ReadPodConstraints(pod);
  job.constraints.gpu_model = job.gpu_model;
  job.constraints.capacity_types = job.capacity.types;
  ReadTemplateRequests(spec, pod, job);
}

void CheckTemplateBytes(FieldReader& spec, const TrainingJob& job) {
  std::size_t bytes = job.pod_template.bytes();
  for (const JobRole& role : job.roles) bytes += role.pod_template.bytes();
  for (const std::string& word : job.checkpoint.command) bytes += sizeof(word) + word.size();
  if (bytes <= PodTemplate::kMaxBytes) return;
  spec.errors().Add(
      spec.PathOf("template"),
      StrCat("and the templates of roles and checkpoint.command have ", bytes,
             " bytes together, and at most ", PodTemplate::kMaxBytes, " are taken for a job"),
      "put files and scripts into a ConfigMap or the image");
}

// Larger jobs are not placed (workload::Problems).
constexpr std::int64_t kMaxGroupedGpus = 1 << 20;

bool HasValidSizes(const JobSpec& job) {
  if (std::int64_t{1} * job.workers * job.gpus_per_worker > kMaxGroupedGpus) return false;
  return workload::ValidateParallelism(job.parallelism, job.workers, job.gpus_per_worker, "").ok();
}

// Where one data group restarts, another one has to go on.
void CheckRestartUnit(FieldReader& spec, const TrainingJob& job) {
  if (job.recovery.unit != RestartUnit::kDataGroup) return;
  const std::string path = spec.PathOf("recovery") + ".unit";
  if (job.elastic.enabled) {
    spec.errors().Add(path, "is DataGroup, and spec.elastic restarts all workers with each size",
                      "leave one of the two out");
    return;
  }
  const bool given = job.job.parallelism_given;
  // What is wrong in the sizes is an error of theirs.
  if (given && (!HasValidSizes(job.job) || !RestartGroupsOf(job).empty())) return;
  spec.errors().Add(
      path,
      StrCat("is DataGroup, and ", given ? "every worker has GPUs of the same data group"
                                         : "spec.parallelism is missing"),
      "give parallelism so that no two data groups share a worker, or leave unit out");
}

// The command becomes the first container's preStop hook, and a container has one.
void CheckCheckpointHook(FieldReader& spec, const TrainingJob& job) {
  if (job.checkpoint.request != CheckpointRequest::kCommand) return;
  if (!job.pod_template.has_pre_stop_hook()) return;
  spec.errors().Add(spec.PathOf("checkpoint") + ".command",
                    "the first container of spec.template has a lifecycle.preStop of its own",
                    "leave one of the two out");
}

struct LostWork {
  std::string cause;
  double gpu_seconds = 0;

  void Describe(FieldVisitor& fields) {
    fields.Text("cause", cause, TextRule{64},
                Required("As of incidents, Suspended, and CapacityLeft.").Always());
    fields.Number("gpuSeconds", gpu_seconds, 0, 1e18, "GPUs that stood still, times seconds.");
  }
};

void LostWorkField(FieldVisitor& fields, std::map<std::string, double>& lost_gpu_seconds) {
  std::vector<LostWork> entries;
  for (const auto& [cause, seconds] : lost_gpu_seconds) entries.push_back({cause, seconds});
  fields.Objects("lostWork", entries, {.max_entries = 16, .map_key = "cause"},
                 "GPU time of repeated work and of waiting, by cause.", "One cause.");
  fields.Check([&](FieldReader&) {
    for (const LostWork& entry : entries) lost_gpu_seconds[entry.cause] = entry.gpu_seconds;
  });
}

void DescribeSpecRules(FieldVisitor& spec) {
  spec.Rule(
      "!has(self.priorityClassName) || self.priorityClassName == '' || !has(self.priority) || "
      "self.priority == 0",
      "priority and priorityClassName are two ways to say one thing; leave priority out",
      ".priorityClassName");
  spec.Rule("!has(self.elastic) || !has(self.parallelism) || !has(self.parallelism.data)",
            "parallelism.data of an elastic job follows from workers; leave it out",
            ".parallelism.data");
  spec.Rule(
      "self.successPolicy == 'Role' ? has(self.successRole) && has(self.roles) && "
      "self.roles.exists(r, r.name == self.successRole) : !has(self.successRole)",
      "successRole names one of roles, and belongs to successPolicy Role; give both or neither",
      ".successRole");
  spec.Rule(
      "!has(self.recovery) || !has(self.recovery.unit) || self.recovery.unit == 'Job' || "
      "!has(self.elastic)",
      "recovery.unit DataGroup does not go with elastic, which restarts all workers with "
      "each size; leave one of the two out",
      ".recovery.unit");
  spec.Rule(
      "!has(self.recovery) || !has(self.recovery.unit) || self.recovery.unit == 'Job' || "
      "has(self.parallelism)",
      "recovery.unit DataGroup needs parallelism, which says what the data groups are; give "
      "parallelism, or leave unit out",
      ".recovery.unit");
  spec.Rule("!has(self.computeDomain) || !self.computeDomain || self.workers > 1",
            "computeDomain connects hosts, and a job with one worker has one; leave computeDomain "
            "out, or give the job more workers",
            ".computeDomain");
}

void DescribeObjectRules(FieldVisitor& fields) {
  fields.Rule(
      "size(self.metadata.name) <= 56 && "
      "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
      "metadata.name must be at most 56 characters, begin with a letter and have no dots, because "
      "pods are named <job>-<rank> and their Service <job>; use a shorter or simpler name");
  fields.Rule(
      "!has(oldSelf.status) || !has(oldSelf.status.workers) || oldSelf.status.workers == 0 || "
      "((self.spec.workers == oldSelf.spec.workers || has(self.spec.elastic)) && "
      "has(self.spec.elastic) == has(oldSelf.spec.elastic) && self.spec.gpusPerWorker == "
      "oldSelf.spec.gpusPerWorker)",
      "spec.workers and spec.gpusPerWorker cannot change while the job has pods; suspend it first, "
      "make it elastic before it starts, or delete it and create it again",
      ".spec");
  fields.Rule(
      "!has(self.spec.roles) || self.spec.roles.all(r, size(self.metadata.name) + size(r.name) <= "
      "58)",
      "pods of a role are named <job>-<role>-<index>, in at most 63 characters; use a shorter name "
      "of the role or of the job",
      ".spec.roles");
  fields.Rule(
      "!has(oldSelf.status) || !has(oldSelf.status.workers) || oldSelf.status.workers == 0 || "
      "(has(self.spec.roles) == has(oldSelf.spec.roles) && (!has(self.spec.roles) || "
      "(self.spec.roles.map(r, r.name) == oldSelf.spec.roles.map(r, r.name) && "
      "self.spec.roles.map(r, r.replicas) == oldSelf.spec.roles.map(r, r.replicas))))",
      "names, order and replicas of spec.roles cannot change while the job has pods; suspend it "
      "first",
      ".spec.roles");
  fields.Rule(
      "!has(oldSelf.status) || !has(oldSelf.status.capacity) || "
      "!has(oldSelf.status.capacity.spent) || !has(self.spec.capacity) || "
      "((!has(self.spec.capacity.maxCostPerHour) || self.spec.capacity.maxCostPerHour.split(' "
      "')[1] == oldSelf.status.capacity.spent.split(' ')[1]) && "
      "(!has(self.spec.capacity.maxTotalCost) || self.spec.capacity.maxTotalCost.split(' ')[1] == "
      "oldSelf.status.capacity.spent.split(' ')[1]))",
      "status.capacity.spent is in the currency in which the job has rented hosts, and none is "
      "converted; write the caps of spec.capacity in that currency, or create the job again",
      ".spec");
  fields.Rule(
      "has(self.spec.managedBy) == has(oldSelf.spec.managedBy) && (!has(self.spec.managedBy) || "
      "self.spec.managedBy == oldSelf.spec.managedBy)",
      "spec.managedBy cannot change; delete the job and create it again", ".spec");
  fields.Rule(
      "(has(self.spec.computeDomain) && self.spec.computeDomain) == "
      "(has(oldSelf.spec.computeDomain) && oldSelf.spec.computeDomain)",
      "spec.computeDomain cannot change; delete the job and create it again", ".spec");
  fields.Rule(
      "!has(oldSelf.status) || !has(oldSelf.status.conditions) || "
      "!oldSelf.status.conditions.exists(c, c.type == 'Planned' && c.status == 'True') || "
      "(has(self.spec.parallelism) == has(oldSelf.spec.parallelism) && "
      "(!has(self.spec.parallelism) || self.spec.parallelism == oldSelf.spec.parallelism))",
      "spec.parallelism cannot change once the job is placed; delete the job and create it again",
      ".spec");
}

void DescribeSpec(FieldVisitor& spec, TrainingJob& job) {
  job.job.Describe(spec);
  spec.Object("recovery", job.recovery,
              Defaulted("What happens when a host is lost or a worker fails.").Always());
  spec.Object("checkpoint", job.checkpoint, Defaulted("How the job saves its state.").Always());
  spec.Object("capacity", job.capacity,
              "What kind of machines may be used, and what they may cost.");
  spec.Text("gpuModel", job.gpu_model, kLabelValue,
            "GPU model, as the node label nvidia.com/gpu.product says; empty: any.");
  spec.Bool("computeDomain", job.compute_domain,
            Defaulted("The workers reach each other's GPUs over the NVLink of their domains: the "
                      "operator makes a ComputeDomain of NVIDIA's DRA driver for the job, and each "
                      "worker claims a channel of it. A host has one, so no two such workers share "
                      "a host. Cannot change.")
                .OmitAt(false));
  job.run.Describe(spec);
  spec.Custom(
      "template", PodTemplateSchema,
      RequiredByServer(
          "Pod template of every worker. GPUs may be left out: they follow from gpusPerWorker."),
      [&](FieldReader& in) { ReadTemplate(in, job); }, [&] { return job.pod_template.ToJson(); });
  spec.Text("priorityClassName", job.priority_class, kObjectName,
            "PriorityClass of the pods; its value is the job's priority, and Kubernetes' quota for "
            "the class applies. Not beside a priority that is not 0.");
  spec.Check([&](FieldReader& in) { CheckPriorityClass(in, job); });
  spec.Objects("roles", job.roles, kRoleList,
               "Pods beside the workers that need no GPUs of the job, such as a launcher or a data "
               "service. They are made once every worker has its host, have the job's Service and "
               "names in it, and are in no gang.",
               "One role.", [&](FieldVisitor& fields, JobRole& role) {
                 DescribeRole(fields, role, job.metadata.name, job.job.gpu_resource);
               });
  spec.Check([&](FieldReader& in) {
    CheckComputeDomain(in, job);
    CheckTemplateBytes(in, job);
    CheckSuccessRole(in, job);
    CheckCheckpointHook(in, job);
  });
  spec.Group("elastic", job.elastic.enabled,
             "Data parallelism that follows what there is room for. workers is what the job wishes "
             "for and may change while it runs.",
             [&](FieldVisitor& fields) { job.elastic.Describe(fields); });
  spec.Check([&](FieldReader& in) {
    if (job.elastic.enabled) job.elastic.Complete(in, job.job);
    CheckRestartUnit(in, job);
  });
  DescribeSpecRules(spec);
}

// An elastic job has the size of its pods, and its spec says what is wished for.
json EncodeSpec(const TrainingJob& job) {
  json spec = EncodeFields(
      [&](FieldVisitor& fields) { DescribeSpec(fields, const_cast<TrainingJob&>(job)); });
  if (!job.elastic.enabled) return spec;
  spec["workers"] = job.elastic.wished_workers;
  if (spec.contains("parallelism")) spec["parallelism"].erase("data");
  return spec;
}

}  // namespace

void CheckpointPolicy::Describe(FieldVisitor& fields) {
  const auto seconds = [&](const char* key, int& value, const char* meaning) {
    fields.Int(key, value, 0, kMaxSeconds, Defaulted(meaning));
  };
  seconds("intervalSeconds", interval_seconds, "How often it writes a checkpoint; 0: unknown.");
  seconds("costSeconds", cost_seconds,
          "Expected time of one checkpoint, until the job has reported it "
          "(status.checkpoint.costSeconds).");
  seconds("graceSeconds", grace_seconds, "Time it is given to write one before it is stopped.");
  fields.Enum(
      "request", request, kRequestNames,
      Defaulted("How a job that is about to be stopped is asked for one. Signal: by SIGTERM, "
                "when its pods are deleted. Annotation: by "
                "yardmaster.dev/checkpoint-request on its pods, which stay until one of them "
                "has yardmaster.dev/checkpoint or graceSeconds are over. Command: by command, "
                "which the kubelet runs in the first container of each worker when its pod "
                "is deleted, before SIGTERM."));
  fields.Texts(
      "command", command, {64, 1}, {4096, 1},
      "With request Command: what asks the program for a checkpoint and returns when it is "
      "complete. Run without a shell, as the lifecycle.preStop hook of the container, which "
      "has none of its own then.",
      "The program or an argument.");
  fields.Enum("mark", mark, kMarkNames,
              Defaulted("How the program says that a checkpoint is complete. Annotation: "
                        "yardmaster.dev/checkpoint on one of the job's pods. File: the file "
                        "YARDMASTER_CHECKPOINT_MARK, which the agent of the node passes on as that "
                        "annotation; needs the chart's agent.readCheckpointMarks."));
  fields.Check([this](FieldReader& in) { CheckCheckpointPolicy(in, *this); });
  fields.Text("directory", directory, kDirectory,
              "Absolute path; YARDMASTER_CHECKPOINT_DIR of every container.");
  fields.Text("claim", claim, NotEmpty(kObjectName),
              "PersistentVolumeClaim that is mounted at directory.");
  fields.Check([this](FieldReader& in) {
    if (claim.empty() || !directory.empty()) return;
    in.errors().Add(in.PathOf("claim"), "has no directory to be mounted at",
                    "give spec.checkpoint.directory");
  });
  fields.Rule("!has(self.claim) || has(self.directory)",
              "claim needs the directory that it is mounted at; give directory", ".claim");
  fields.Rule("has(self.command) == (has(self.request) && self.request == 'Command')",
              "command and request Command need each other; give both or neither", ".command");
}

void RunPolicy::Describe(FieldVisitor& spec) {
  spec.Bool(
      "suspend", suspended,
      Defaulted("The job's pods are ended, with their grace period, and its hosts given back; "
                "it is placed again when this is false. Without effect once the job has "
                "ended.")
          .OmitAt(false));
  spec.Text("managedBy", managed_by, NotEmpty(kLabelValue),
            "The controller that runs the job. Another name than yardmaster.dev/operator: the "
            "operator leaves the job alone.");
  spec.Int("activeDeadlineSeconds", active_deadline_seconds, 1, kMaxSeconds,
           "The job fails this long after all its workers ran for the first time; a suspension "
           "begins it again.");
  spec.Int("ttlSecondsAfterFinished", ttl_seconds_after_finished, 0, kMaxSeconds,
           "The job is deleted this long after it succeeded or failed. Left out: never.");
  spec.Enum(
      "successPolicy", success, kSuccessNames,
      Defaulted("What has to succeed for the job to succeed: every worker, rank 0, or every pod "
                "of the role that successRole names."));
  spec.Text("successRole", success_role, TextRule{kRoleName.max_length, 1},
            "With successPolicy Role, the role.");
  spec.Enum("cleanPodPolicy", clean_pods, kCleanPodNames,
            Defaulted("Which pods are removed once the job has ended."));
  spec.Enum(
      "publish", publish, kPublishNames,
      Defaulted("Which pods' names the job's Service resolves. RankZero: that in MASTER_ADDR, "
                "which costs the cluster least. All: that of every pod, for programs that "
                "address workers by name. Auto: All where the job has roles, is elastic or "
                "restarts by data group (recovery.unit), else RankZero. Read when pods are made."));
  spec.Enum("movable", movable, kMovableNames,
            Defaulted("Whether kubectl yardmaster rebalance proposes to move the job, once it "
                      "runs, to other hosts: for a better place, or to make one for a gang that "
                      "waits. AtCheckpoint: yes, from a checkpoint on. Never: the job stays where "
                      "it is until it ends."));
}

void TrainingJobStatus::Describe(FieldVisitor& fields) {
  fields.Int("observedGeneration", observed_generation, 0, INT64_MAX,
             "metadata.generation this was computed from.");
  ConditionsField(fields, conditions);
  fields.Int("workers", workers, 0, kMaxJobWorkers,
             "Workers of the job; 0 while it is suspended and has no pods.");
  fields.Int("readyWorkers", ready_workers, 0, kMaxJobWorkers, "Pods that run.");
  fields.Int("succeededWorkers", succeeded_workers, 0, kMaxJobWorkers, "Pods that have succeeded.");
  fields.Objects("roles", roles, kRoleList, "Pods of spec.roles.", "One role.");
  fields.Objects("segments", segments, {4096}, About("Segments its workers stand in.").Always(),
                 "One segment.");
  fields.Number("intensity", intensity, 0, kNoMaximum, "FLOP per second of communication (Crux).");
  fields.Int("level", level, 0, 63, "Network priority, 0 lowest.");
  fields.Int("restarts", restarts, 0, INT32_MAX,
             "Restarts that counted against the budget, over the job's life.");
  fields.Time("startTime", start_ms,
              "When all workers ran for the first time since the job was made or resumed.");
  fields.Time("completionTime", completion_ms, "When it succeeded or failed.");
  fields.Object("checkpoint", checkpoint, "Checkpoints that the job has reported.");
  LostWorkField(fields, lost_gpu_seconds);
  fields.Int("rendezvousPort", rendezvous_port, 0, 65'535,
             About("MASTER_PORT of a job with hostNetwork; 0 or left out: 29500.").OmitAt(0));
  fields.Object("elastic", elastic, "Of an elastic job, the size that it has.");
  fields.Object("recovery", recovery,
                About("What is decided about failures. Written before it is acted on, so that any "
                      "operator carries on.")
                    .Always());
  fields.Object("capacity", capacity,
                About("What is rented for the job, and what it has cost. Written before hosts are "
                      "asked for, so that any operator carries on.")
                    .OrNull());
  fields.Object("move", move,
                About("The last move to other hosts that was asked for. Written before pods are "
                      "removed, so that any operator carries on.")
                    .OrNull());
  fields.Object("queue", queue,
                About("Where the job stands in its queue of Kueue. Written before pods are made or "
                      "quota is given back, so that any operator carries on.")
                    .OrNull());
  fields.Objects(
      "standby", standby, {kMaxStandbys},
      About("Of spec.recovery.standby, where images are pulled for replacements. Follows "
            "the hosts; nothing else depends on it.")
          .OrNull(),
      "One host.");
}

std::vector<int> RestartGroupsOf(const TrainingJob& job) {
  const bool grouped = job.recovery.unit == RestartUnit::kDataGroup && !job.elastic.enabled &&
                       job.job.parallelism_given && HasValidSizes(job.job);
  if (!grouped) return {};
  return workload::DataGroupOfWorker(job.job.parallelism, job.job.workers, job.job.gpus_per_worker);
}

void TrainingJob::Describe(FieldVisitor& fields) {
  fields.Group("spec", RequiredByServer("What is trained and what it needs."),
               [this](FieldVisitor& spec) { DescribeSpec(spec, *this); });
  fields.Object("status", status, "Where the job stands.");
  DescribeObjectRules(fields);
}

json TrainingJobSchema() {
  return SchemaOfResource(
      "TrainingJob is one distributed training run: workers that start all or none, placed by what "
      "they say to each other.",
      [](FieldVisitor& fields) { TrainingJob().Describe(fields); });
}

absl::StatusOr<TrainingJob> DecodeTrainingJob(JsonView object, UnknownFields unknown) {
  FieldErrors errors;
  FieldReader in(object, "", unknown, &errors);
  ReadTypeMeta(in, kGroupVersion, kTrainingJobKind);
  TrainingJob job;
  job.metadata = ReadMetadata(in, Namespaced::kYes,
                              unknown == UnknownFields::kIgnore ? &KeptOfWorkloads() : nullptr);
  DecodeFields(in, [&](FieldVisitor& fields) { job.Describe(fields); });
  if (job.elastic.enabled && errors.empty()) {
    const int data = job.status.elastic.data;
    SetData(job.job, WorkersOf(job.job, data) ? data : job.elastic.wished_data);
  }
  AddAdmission(job.status.queue, job.constraints);
  job.own_constraints = job.constraints;
  AddRental(job.status.capacity, job.metadata.uid, job.constraints);
  in.Close();
  if (!errors.empty()) return errors.status();
  return job;
}

json EncodeTrainingJobStatus(const TrainingJobStatus& status) { return EncodeObject(status); }

json EncodeTrainingJob(const TrainingJob& job) {
  json out = {{"apiVersion", kGroupVersion},
              {"kind", kTrainingJobKind},
              {"metadata", EncodeMetadata(job.metadata)},
              {"spec", EncodeSpec(job)}};
  if (job.status != TrainingJobStatus{}) out["status"] = EncodeTrainingJobStatus(job.status);
  return out;
}

}  // namespace yardmaster::api
