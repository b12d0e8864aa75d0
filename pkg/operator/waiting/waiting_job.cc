#include "pkg/operator/waiting/waiting_job.h"

#include <utility>

#include "pkg/api/gang.h"
#include "pkg/api/pod_template.h"
#include "pkg/api/suspended_wait.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/gather/job_set.h"
#include "pkg/gather/owner_state.h"
#include "pkg/gather/template_gpus.h"
#include "pkg/kube/object.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

const kube::Resource kJobs = {"batch", "v1", "jobs", "Job", true};
const kube::Resource kJobSets = {"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true};
constexpr char kExclusive[] = "alpha.jobset.sigs.k8s.io/exclusive-topology";

bool IsGone(const WaitingJob& job, JsonView object) {
  api::Gang gang;
  gang.metadata.namespace_name = job.namespace_name;
  gang.owner = {job.resource.ApiVersion(), job.resource.kind, job.name, job.uid, false};
  const gather::OwnerPhase phase = gather::OwnerStateOf(gang, object).phase;
  return phase == gather::OwnerPhase::kGone || phase == gather::OwnerPhase::kFinished;
}

std::string WhoElseDecides(const WaitingJob& job, JsonView object) {
  if (const auto queue = object.At({"metadata", "labels", api::kQueueLabel}).String()) {
    return StrCat("Kueue (label ", api::kQueueLabel, ": ", *queue, ")");
  }
  const std::string managed_by = object.At({"spec", "managedBy"}).Text();
  const char* own = job.resource.kind == "Job" ? "kubernetes.io/job-controller"
                                               : "jobset.sigs.k8s.io/jobset-controller";
  if (!managed_by.empty() && managed_by != own) return StrCat("spec.managedBy: ", managed_by);
  std::string controller;
  object.At({"metadata", "ownerReferences"}).ForEachElement([&](JsonView owner) {
    if (owner["controller"].Bool() != true) return;
    controller = StrCat(owner["kind"].Text(), " ", owner["name"].Text(), ", which controls it");
  });
  return controller;
}

// Of the spec of a Job.
absl::StatusOr<int> PodsOfJob(JsonView spec, const std::string& field, bool indexed_by_default) {
  const JsonView mode = spec["completionMode"];
  const bool indexed = mode.is_string() ? mode.String() == "Indexed" : indexed_by_default;
  if (!indexed) {
    return FieldError(StrCat(field, ".completionMode"), "is not Indexed",
                      "use Indexed: the index is the rank");
  }
  const auto completions = spec["completions"].WholeNumber();
  const auto parallelism = spec["parallelism"].WholeNumber().value_or(1);
  if (!completions || *completions != parallelism || *completions < 1 ||
      *completions > api::kMaxListedRanks) {
    return FieldError(StrCat(field, ".completions"),
                      completions ? StrCat("is ", *completions, " with parallelism ", parallelism)
                                  : std::string("is missing"),
                      StrCat("give completions and parallelism the same number, from 1 to ",
                             api::kMaxListedRanks, ", so that all pods run at once"));
  }
  return static_cast<int>(*completions);
}

json FirstPod(const WaitingJob& job, JsonView pod_template, const std::string& job_name,
              json labels) {
  json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  pod["spec"] = pod_template["spec"].ToJson();
  json& meta = pod["metadata"] = json::object();
  for (const char* map : {"labels", "annotations"}) {
    const json copy = pod_template.At({"metadata", map}).ToJson();
    meta[map] = copy.is_object() ? copy : json::object();
  }
  labels["batch.kubernetes.io/job-name"] = job_name;
  labels["batch.kubernetes.io/job-completion-index"] = "0";
  meta["labels"].update(labels);
  meta["name"] = StrCat(job_name, "-0-yardmaster");
  meta["namespace"] = job.namespace_name;
  // The Job of a JobSet is not there yet; its uid is not looked at.
  meta["ownerReferences"] = json::array({{{"apiVersion", kJobs.ApiVersion()},
                                          {"kind", kJobs.kind},
                                          {"name", job_name},
                                          {"uid", job.uid},
                                          {"controller", true}}});
  return pod;
}

absl::StatusOr<std::vector<PodSet>> OfJob(const WaitingJob& job, JsonView object) {
  const JsonView spec = object["spec"];
  if (object.At({"status", "succeeded"}).WholeNumber().value_or(0) > 0) {
    return FieldError("status.succeeded", "is not 0: some of its indexes will not run again",
                      kLetPodsComeFirst);
  }
  PodSet set{"spec", std::nullopt, 1, 0, {}};
  YM_ASSIGN_OR_RETURN(set.pods, PodsOfJob(spec, set.field, /*indexed_by_default=*/false));
  set.first_pod =
      FirstPod(job, spec["template"], job.name, {{"batch.kubernetes.io/controller-uid", job.uid}});
  return std::vector<PodSet>{std::move(set)};
}

absl::Status CheckStartsAtOnce(JsonView object, const std::vector<gather::ReplicatedJob>& jobs) {
  const auto exclusive = [](JsonView one) {
    return one.At({"metadata", "annotations", kExclusive}).present();
  };
  bool some_exclusive = exclusive(object), some_depend = false;
  for (const gather::ReplicatedJob& job : jobs) {
    some_exclusive |= exclusive(job.object["template"]);
    some_depend |= job.object["dependsOn"].size() > 0;
  }
  if (some_exclusive) {
    return FieldError(StrCat("metadata.annotations[\"", kExclusive, "\"]"),
                      "lets most pods come after others", "remove it");
  }
  if (some_depend) {
    return FieldError("spec.replicatedJobs[].dependsOn", "lets some pods come after others",
                      kLetPodsComeFirst);
  }
  if (object.At({"spec", "startupPolicy", "startupPolicyOrder"}).String() == "InOrder") {
    return FieldError("spec.startupPolicy", "lets some pods come after others", kLetPodsComeFirst);
  }
  return absl::OkStatus();
}

bool HasRunInPart(JsonView object) {
  bool some = false;
  object.At({"status", "replicatedJobsStatus"}).ForEachElement([&](JsonView job) {
    some |= job["succeeded"].WholeNumber().value_or(0) > 0;
  });
  return some;
}

absl::StatusOr<std::vector<PodSet>> OfJobSet(const WaitingJob& job, JsonView object) {
  std::vector<gather::ReplicatedJob> jobs;
  gather::ForEachReplicatedJob(object, [&](const auto& one) { jobs.push_back(one); });
  YM_RETURN_IF_ERROR(CheckStartsAtOnce(object, jobs));
  if (HasRunInPart(object)) {
    return FieldError("status.replicatedJobsStatus[].succeeded",
                      "is not 0: some of its Jobs will not run again", kLetPodsComeFirst);
  }
  std::vector<PodSet> sets;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const gather::ReplicatedJob& one = jobs[i];
    const std::string field = StrCat("spec.replicatedJobs[", i, "]");
    if (!one.is_valid) {
      return FieldError(StrCat(field, ".replicas"), "is not a number of Jobs",
                        StrCat("use a number from 0 to ", api::kMaxListedRanks));
    }
    const JsonView spec = one.object.At({"template", "spec"});
    if (one.jobs == 0 || gather::AsksForGpus(spec["template"]) == false) continue;
    PodSet set{StrCat(field, ".template.spec"),
               static_cast<int>(one.first_job),
               static_cast<int>(one.jobs),
               0,
               {}};
    YM_ASSIGN_OR_RETURN(set.pods, PodsOfJob(spec, set.field, /*indexed_by_default=*/true));
    set.first_pod =
        FirstPod(job, spec["template"], StrCat(job.name, "-", one.object["name"].Text(), "-0"),
                 {{"jobset.sigs.k8s.io/jobset-name", job.name},
                  {"jobset.sigs.k8s.io/jobset-uid", job.uid},
                  {"jobset.sigs.k8s.io/replicatedjob-name", one.object["name"].Text()},
                  {"jobset.sigs.k8s.io/job-index", "0"},
                  {"jobset.sigs.k8s.io/job-global-index", StrCat(one.first_job)}});
    sets.push_back(std::move(set));
  }
  if (sets.empty()) {
    return FieldError("spec.replicatedJobs", "has no pods that ask for GPUs",
                      "remove the label yardmaster.dev/wait");
  }
  return sets;
}

}  // namespace

std::optional<kube::Resource> ResourceOfWaitingKind(std::string_view kind) {
  if (kind == kJobs.kind) return kJobs;
  if (kind == kJobSets.kind) return kJobSets;
  return std::nullopt;
}

WaitingJob ReadWaitingJob(const kube::Resource& resource, JsonView object) {
  WaitingJob job;
  job.resource = resource;
  job.namespace_name = kube::NamespaceOf(object);
  job.name = kube::NameOf(object);
  job.uid = kube::UidOf(object);
  job.resource_version = kube::ResourceVersionOf(object);
  job.generation = object.At({"metadata", "generation"}).WholeNumber().value_or(0);
  job.gone = IsGone(job, object);
  job.suspended = object.At({"spec", "suspend"}).Bool() == true;
  job.wait = object.At({"metadata", "labels", api::kWaitLabel}).Text();
  job.resumed = object.At({"metadata", "annotations", api::kResumedAnnotation}).Text();
  job.left_to = WhoElseDecides(job, object);
  return job;
}

absl::StatusOr<std::vector<PodSet>> PodSetsOf(const WaitingJob& job, const json& object) {
  return job.resource == kJobs ? OfJob(job, object) : OfJobSet(job, object);
}

}  // namespace yardmaster::op
