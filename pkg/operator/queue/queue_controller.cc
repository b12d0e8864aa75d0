#include "pkg/operator/queue/queue_controller.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/api/gang.h"
#include "pkg/api/status_text.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"
#include "pkg/kube/object.h"
#include "pkg/operator/job_status_patch.h"
#include "pkg/operator/pods/pod_builder.h"
#include "pkg/operator/write_target.h"

namespace yardmaster::op {

namespace {

using api::QueuePhase;
using nlohmann::json;

constexpr std::int64_t kNextStepMs = 1;
constexpr std::int64_t kProblemAgainMs = 5'000;
const kube::Resource kPriorityClasses = {"scheduling.k8s.io", "v1", "priorityclasses",
                                         "PriorityClass", false};
constexpr char kNotFollowed[] =
    "the operator does not follow Kueue: it is not installed, or the chart's kueue.enabled is "
    "false; "
    "the job waits";

bool IsOwnedBy(const api::KueueWorkload& workload, const std::string& uid) {
  const api::OwnerReference* owner = workload.metadata.controller();
  return owner != nullptr && owner->uid == uid;
}

// No member that has succeeded runs again: not by a policy, nor because the job moves or changes
// its size. (An eviction gives all quota back.)
bool SucceedsForGood(const api::TrainingJob& job) {
  const auto restarts_all = [](const api::JobRole& role) {
    return role.on_failure == api::OnRoleFailure::kRestart;
  };
  return !job.elastic.enabled && job.recovery.on_host_loss != api::OnHostLoss::kRestart &&
         job.recovery.on_worker_failure != api::OnHostLoss::kRestart &&
         job.status.capacity == api::CapacityStatus{} &&
         std::none_of(job.roles.begin(), job.roles.end(), restarts_all);
}

std::map<std::string, int> InUse(const api::TrainingJob& job) {
  std::map<std::string, int> out;
  const api::QueueStatus& queue = job.status.queue;
  if (!SucceedsForGood(job) || queue.phase != QueuePhase::kAdmitted) return out;
  for (std::size_t i = 0; i < queue.pod_sets.size(); ++i) {
    const api::AdmittedPodSet& set = queue.pod_sets[i];
    if (i == 0) {
      out[set.name] = set.count - job.status.succeeded_workers;
    } else if (i <= job.status.roles.size()) {
      out[set.name] = set.count - job.status.roles[i - 1].succeeded;
    }
  }
  return out;
}

// It has pods or a place of its own, or had: from before it was in a queue.
bool HasRun(const api::TrainingJob& job, const api::Gang* gang) {
  const api::RecoveryState& recovery = job.status.recovery;
  const bool has_place =
      gang != nullptr && gang->owner.uid == job.metadata.uid && gang->status.plan_generation > 0;
  return has_place || recovery.running_attempt >= 0 || !recovery.incidents.empty();
}

std::string EndMessage(const api::TrainingJob& job) {
  for (const char* type : {"Succeeded", "Failed"}) {
    const api::Condition* end = api::FindCondition(job.status.conditions, type);
    if (end != nullptr && end->status == api::ConditionStatus::kTrue) return end->message;
  }
  return "";
}

// The largest size of an elastic job that `workers` allow; 0: it is not elastic.
int LargestDataOf(const api::TrainingJob& job, int workers) {
  int largest = 0;
  if (!job.elastic.enabled) return largest;
  for (const int data : api::SizesOf(job.job, job.elastic)) {
    if (api::WorkersOf(job.job, data).value_or(workers + 1) <= workers) largest = data;
  }
  return largest;
}

}  // namespace

QueueController::QueueController(kube::Client& client, state::ClusterCache& cache,
                                 WorkloadCache& workloads, const Clock& clock, Notify notify,
                                 std::function<bool()> may_write)
    : client_(client),
      cache_(cache),
      workloads_(workloads),
      clock_(clock),
      notify_(std::move(notify)),
      may_write_(may_write ? std::move(may_write) : [] { return true; }) {}

void QueueController::EmitEvent(const api::TrainingJob& job, bool warning, const char* reason,
                                std::string note) {
  notify_({job.metadata.namespace_name, job.metadata.name, job.metadata.uid, warning, reason,
           std::move(note)});
}

kube::Target QueueController::TargetOfWorkload(const api::ObjectMeta& metadata,
                                               const std::string& subresource) const {
  return {KueueWorkloads(workloads_.version()), metadata.namespace_name, metadata.name,
          subresource};
}

bool QueueController::HasPods(const api::TrainingJob& job, bool live) const {
  const int members = std::max(job.members(), api::SurplusEndOf(job.job, job.status.elastic));
  for (int member = 0; member < members; ++member) {
    const std::string name =
        member < job.members() ? MemberName(job, member) : PodName(job.metadata.name, member);
    const auto pod = cache_.FindPod(kube::MakeKey(job.metadata.namespace_name, name));
    const api::OwnerReference* owner = pod == nullptr ? nullptr : pod->metadata.controller();
    if (owner == nullptr || owner->uid != job.metadata.uid) continue;
    if (!live || !pod->finished()) return true;
  }
  return false;
}

QueueFacts QueueController::FactsOf(const api::TrainingJob& job,
                                    const api::KueueWorkload* workload) const {
  const auto gang = cache_.FindGang(kube::MakeKey(
      job.metadata.namespace_name, api::GangName(api::kTrainingJobKind, job.metadata.name)));
  const bool has_pods = HasPods(job, false);
  QueueFacts facts;
  facts.queue = QueueNameOf(job);
  facts.suspended = job.run.suspended;
  facts.ended = job.status.ended();
  // status.workers is 0 while the job has no pods and the status says that it makes none.
  facts.idle = job.status.workers == 0 && !has_pods;
  facts.has_run = has_pods || HasRun(job, gang.get());
  facts.enters = !has_pods && (job.status.workers == 0 || !facts.has_run);
  facts.has_live_pods = has_pods && HasPods(job, true);
  facts.runs = api::IsTrue(job.status.conditions, "Running");
  facts.status = job.status.queue;
  facts.workload_name = WorkloadName(job);
  facts.pod_sets_hash = PodSetsHash(job);
  facts.in_use = InUse(job);
  facts.workload = workload;
  return facts;
}

absl::Status QueueController::WriteStatus(api::TrainingJob& job, const api::QueueStatus& status) {
  if (status == job.status.queue) return absl::OkStatus();
  const json queue = status == api::QueueStatus{} ? json() : api::EncodeObject(status);
  YM_RETURN_IF_ERROR(PatchJobStatus(client_, cache_, job, {{"queue", queue}}));
  if (status.phase == QueuePhase::kEvicted && job.status.queue.phase != QueuePhase::kEvicted) {
    EmitEvent(job, true, "Evicted", StrCat(status.message, "; the job's pods are ended"));
  }
  job.status.queue = status;
  return absl::OkStatus();
}

absl::Status QueueController::PatchStatus(const api::KueueWorkload& workload, json status) {
  const json patch = {
      {"metadata",
       {{"uid", workload.metadata.uid}, {"resourceVersion", workload.metadata.resource_version}}},
      {"status", std::move(status)}};
  YM_ASSIGN_OR_RETURN(const json written,
                      client_.Patch(TargetOfWorkload(workload.metadata, "status"),
                                    kube::MergePatch(patch), {kFieldManager}));
  workloads_.Assume(written);
  return absl::OkStatus();
}

absl::Status QueueController::DropFinalizer(const api::KueueWorkload& workload) {
  std::vector<std::string> finalizers = workload.metadata.finalizers;
  std::erase(finalizers, api::kQuotaFinalizer);
  const json patch = {{"metadata",
                       {{"uid", workload.metadata.uid},
                        {"resourceVersion", workload.metadata.resource_version},
                        {"finalizers", finalizers}}}};
  const auto written =
      client_.Patch(TargetOfWorkload(workload.metadata), kube::MergePatch(patch), {kFieldManager});
  return kube::IsGone(written.status()) ? absl::OkStatus() : written.status();
}

absl::Status QueueController::Delete(const api::KueueWorkload& workload) {
  kube::DeleteOptions options;
  options.uid = workload.metadata.uid;
  const absl::Status deleted = client_.Delete(TargetOfWorkload(workload.metadata), options);
  return kube::IsGone(deleted) ? absl::OkStatus() : deleted;
}

absl::StatusOr<QueuePriority> QueueController::PriorityOf(const api::TrainingJob& job) {
  QueuePriority priority;
  priority.class_name =
      std::string(api::Find(job.metadata.labels, api::kQueuePriorityLabel).value_or(""));
  priority.workload_class = !priority.class_name.empty();
  if (priority.class_name.empty()) priority.class_name = job.priority_class;
  if (priority.class_name.empty()) priority.class_name = job.pod_template.priority_class();
  if (priority.class_name.empty()) {
    priority.value = job.job.priority;
    return priority;
  }
  const kube::Resource resource =
      priority.workload_class ? KueuePriorityClasses(workloads_.version()) : kPriorityClasses;
  YM_ASSIGN_OR_RETURN(const json object, client_.Get({resource, "", priority.class_name}));
  const auto value = object.find("value");
  if (value != object.end() && value->is_number_integer()) priority.value = value->get<int>();
  return priority;
}

absl::StatusOr<std::string> QueueController::Create(const api::TrainingJob& job) {
  const auto priority = PriorityOf(job);
  if (absl::IsNotFound(priority.status())) {
    return StrCat("the job's priority class does not exist: ", MessageOf(priority.status()),
                  "; create it, or change the label ", api::kQueuePriorityLabel,
                  " or spec.priorityClassName");
  }
  YM_RETURN_IF_ERROR(priority.status());
  const std::string version = workloads_.version();
  const json workload = BuildWorkload(job, version, *priority);
  const kube::Target collection{KueueWorkloads(version), job.metadata.namespace_name};
  const auto created = client_.Create(collection, workload, {kFieldManager});
  if (created.ok()) {
    workloads_.Assume(*created);
    return std::string();
  }
  // The watch may be behind, or the answer of an earlier try was lost.
  if (absl::IsAlreadyExists(created.status())) {
    kube::Target target = collection;
    target.name = WorkloadName(job);
    YM_ASSIGN_OR_RETURN(const json there, client_.Get(target));
    YM_ASSIGN_OR_RETURN(const api::KueueWorkload decoded, api::DecodeKueueWorkload(there));
    if (!IsOwnedBy(decoded, job.metadata.uid)) {
      return StrCat("Workload ", target.name,
                    " exists and does not belong to this job; delete the Workload or create the "
                    "job under another name");
    }
    workloads_.Assume(there);
    return std::string();
  }
  if (absl::IsInvalidArgument(created.status()) || absl::IsPermissionDenied(created.status())) {
    return StrCat("the job's Workload is refused: ", MessageOf(created.status()));
  }
  return created.status();
}

absl::StatusOr<bool> QueueController::HoldsHosts(const api::TrainingJob& job) {
  const auto gang = client_.Get(
      TargetOf(kube::Gangs(), job, api::GangName(api::kTrainingJobKind, job.metadata.name)));
  if (absl::IsNotFound(gang.status())) return false;
  YM_RETURN_IF_ERROR(gang.status());
  YM_ASSIGN_OR_RETURN(const api::Gang decoded, api::DecodeGang(*gang, api::Decoding::kLenient));
  return decoded.status.committed();
}

absl::StatusOr<std::string> QueueController::Admit(api::TrainingJob& job,
                                                   const api::KueueWorkload& workload) {
  std::map<std::string, api::ResourceFlavor> flavors;
  bool has_topology = false;
  for (const api::QuotaAssignment& assignment : workload.assignments) {
    has_topology |= assignment.has_topology;
    for (const std::string& name : assignment.flavors) {
      if (flavors.count(name) != 0) continue;
      const auto flavor = client_.Get({KueueFlavors(workloads_.version()), "", name});
      if (absl::IsNotFound(flavor.status())) {
        return StrCat("ResourceFlavor ", name, " was admitted and does not exist; create it");
      }
      YM_RETURN_IF_ERROR(flavor.status());
      YM_ASSIGN_OR_RETURN(flavors[name], api::DecodeResourceFlavor(*flavor));
    }
  }
  api::QueueStatus status = job.status.queue;
  status.pod_sets = AdmittedPodSetsOf(workload, flavors);
  if (status.pod_sets.empty()) {
    return StrCat("the admission of Workload ", workload.metadata.name,
                  " does not name every pod set");
  }
  json fields = json::object();
  if (const int data = LargestDataOf(job, status.pod_sets[0].count); data != 0) {
    status.pod_sets[0].count = *api::WorkersOf(job.job, data);
    YM_ASSIGN_OR_RETURN(const bool holds_hosts, HoldsHosts(job));
    if (holds_hosts || job.status.elastic.target != 0 || job.status.elastic.previous != 0) {
      return std::string("the hosts of its last size are being given back");
    }
    api::ElasticStatus elastic;
    elastic.data = data;
    elastic.changed_ms = clock_.WallMs() / 1000 * 1000;  // the API server keeps whole seconds
    fields["elastic"] = api::EncodeObject(elastic);
  }
  status.phase = QueuePhase::kAdmitted;
  status.workload_uid = workload.metadata.uid;
  status.cluster_queue = workload.cluster_queue;
  status.message = StrCat("admitted by ClusterQueue ", workload.cluster_queue);
  if (has_topology) {
    status.message.append(
        "; Kueue has chosen hosts, too (its topology-aware scheduling): Yardmaster places the job, "
        "and does not follow that choice; use flavors without a topology for this queue");
  }
  fields["queue"] = api::EncodeObject(status);
  YM_RETURN_IF_ERROR(PatchJobStatus(client_, cache_, job, fields));
  job.status.queue = status;
  EmitEvent(job, has_topology, "Admitted", status.message);
  return std::string();
}

absl::Status QueueController::Act(const api::TrainingJob& job, const api::KueueWorkload* workload,
                                  const QueueStep& step) {
  if (workload == nullptr) return absl::OkStatus();
  const std::int64_t now_ms = clock_.WallMs();
  switch (step.action) {
    case QueueAction::kGiveBack:
      return PatchStatus(
          *workload,
          {{"conditions", api::EncodeConditions(ConditionsWithoutQuota(*workload, now_ms))},
           {"reclaimablePods", nullptr},
           {"admission", nullptr}});
    case QueueAction::kReportReady: {
      const bool runs = api::IsTrue(job.status.conditions, "Running");
      return PatchStatus(*workload, {{"conditions", api::EncodeConditions(ConditionsWithReadiness(
                                                        *workload, runs, now_ms))}});
    }
    case QueueAction::kReclaim: {
      json pods = json::array();
      for (const auto& [name, count] : step.reclaimable) {
        pods.push_back({{"name", name}, {"count", count}});
      }
      return PatchStatus(*workload, {{"reclaimablePods", std::move(pods)}});
    }
    case QueueAction::kFinish: {
      const bool succeeded = api::IsTrue(job.status.conditions, "Succeeded");
      return PatchStatus(*workload,
                         {{"conditions", api::EncodeConditions(ConditionsWithEnd(
                                             *workload, succeeded, EndMessage(job), now_ms))}});
    }
    case QueueAction::kDelete:
      return Delete(*workload);
    case QueueAction::kDropFinalizer:
      return DropFinalizer(*workload);
    case QueueAction::kNone:
    case QueueAction::kCreate:
    case QueueAction::kAdmit:
      break;
  }
  return absl::OkStatus();
}

// Workloads of jobs of this name that are gone: the garbage collector deletes them, and their quota
// counts until their pods have ended.
absl::Status QueueController::LetGoOfOthers(const std::string& key, const std::string& uid) {
  for (const auto& workload : workloads_.OfJob(key)) {
    if (IsOwnedBy(*workload, uid) || !workload->metadata.deleted_ms || !workload->has_finalizer()) {
      continue;
    }
    const std::string& owner = workload->metadata.controller()->uid;
    const auto pods = cache_.Take().pods;
    const bool has_pods = std::any_of(pods.begin(), pods.end(), [&](const auto& pod) {
      const api::OwnerReference* of = pod->metadata.controller();
      return of != nullptr && of->uid == owner && !pod->finished();
    });
    if (!has_pods) YM_RETURN_IF_ERROR(DropFinalizer(*workload));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::int64_t>> QueueController::Reconcile(const std::string& key) {
  const std::optional<std::int64_t> nothing;
  const auto found = cache_.FindJob(key);
  const bool served = workloads_.service() == QueueService::kServed;
  if (served && may_write_()) {
    YM_RETURN_IF_ERROR(LetGoOfOthers(key, found == nullptr ? "" : found->metadata.uid));
  }
  if (found == nullptr || !may_write_()) return nothing;
  const std::string& managed_by = found->run.managed_by;
  if (!managed_by.empty() && managed_by != api::kManagedByOperator) return nothing;
  api::TrainingJob job = *found;
  if (!served) {
    YM_RETURN_IF_ERROR(SayNotFollowed(job));
    return nothing;
  }
  std::shared_ptr<const api::KueueWorkload> workload;
  for (const auto& one : workloads_.OfJob(key)) {
    if (IsOwnedBy(*one, job.metadata.uid)) workload = one;
  }
  // Its pods end in their time, and the Workload goes with the job.
  if (job.metadata.deleted_ms) return nothing;
  if (QueueNameOf(job).empty() && job.status.queue == api::QueueStatus{} && workload == nullptr) {
    return nothing;
  }
  return CarryOut(job, workload.get(), NextQueueStep(FactsOf(job, workload.get())));
}

absl::Status QueueController::SayNotFollowed(api::TrainingJob& job) {
  const QueueFacts facts = FactsOf(job, nullptr);
  if (workloads_.service() == QueueService::kUnknown) {
    // It enters its queue, so that it is not said to be held while Workloads are read first.
    const bool enters = !facts.queue.empty() && facts.status.phase == QueuePhase::kNone;
    return enters && !facts.suspended && !facts.ended
               ? WriteStatus(job, NextQueueStep(facts).status)
               : absl::OkStatus();
  }
  if (!facts.status.holds_job()) return absl::OkStatus();
  api::QueueStatus status = facts.status;
  status.message = kNotFollowed;
  // One that never had pods is held before its first (jobs/job_hold.h).
  if (status.phase == QueuePhase::kPending && !facts.has_run) status = {};
  return WriteStatus(job, status);
}

absl::StatusOr<std::optional<std::int64_t>> QueueController::CarryOut(
    api::TrainingJob& job, const api::KueueWorkload* workload, const QueueStep& step) {
  api::QueueStatus status = step.status;
  const bool changed = status != job.status.queue;
  // A Workload is made, and an admission taken, by what the status says already.
  const bool is_written = status.phase == job.status.queue.phase;
  std::string problem;
  if (is_written && step.action == QueueAction::kCreate) {
    YM_ASSIGN_OR_RETURN(problem, Create(job));
  } else if (is_written && step.action == QueueAction::kAdmit) {
    YM_ASSIGN_OR_RETURN(problem, Admit(job, *workload));
    if (problem.empty()) return std::optional<std::int64_t>(kNextStepMs);
  }
  if (!problem.empty()) {
    status.message = api::CutStatusText(problem);
    const bool fresh = status.message != job.status.queue.message;
    YM_RETURN_IF_ERROR(WriteStatus(job, status));
    if (fresh) EmitEvent(job, true, "QueueWaits", problem);
    return std::optional<std::int64_t>(kProblemAgainMs);
  }
  YM_RETURN_IF_ERROR(WriteStatus(job, status));
  YM_RETURN_IF_ERROR(Act(job, workload, step));
  return changed ? std::optional<std::int64_t>(kNextStepMs) : std::nullopt;
}

}  // namespace yardmaster::op
