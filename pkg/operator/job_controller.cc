#include "pkg/operator/job_controller.h"

#include <algorithm>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/base/mutex.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/operator/job_end.h"
#include "pkg/operator/pod_builder.h"
#include "pkg/operator/work_loss.h"

namespace yardmaster::op {

namespace {

constexpr char kFieldManager[] = "yardmaster-operator";
constexpr std::size_t kWriteThreads = 8;
constexpr std::int64_t kNameTakenAgainMs = 30'000;
constexpr std::int64_t kUnconfirmedAgainMs = 1'000;
constexpr char kStalled[] = "Stalled";
constexpr char kNameTaken[] = "NameTaken";

WorkerPhase PhaseOf(const api::Pod& pod) {
  if (pod.phase == "Succeeded") return WorkerPhase::kSucceeded;
  if (pod.phase == "Failed") return WorkerPhase::kFailed;
  if (pod.phase == "Running") return WorkerPhase::kRunning;
  return pod.gated() ? WorkerPhase::kGated : WorkerPhase::kPending;
}

std::int64_t NumberOf(const api::Pod& pod, const char* annotation) {
  const auto text = api::Find(pod.metadata.annotations, annotation);
  return text ? ParseNumber<std::int64_t>(*text).value_or(0) : 0;
}

// Which attempt the pod is in, and what it was asked for.
void ReadAttempt(const api::Pod& pod, Worker& worker) {
  worker.attempt = NumberOf(pod, api::kAttemptAnnotation);
  worker.restartable =
      api::Find(pod.metadata.annotations, api::kRestartGenerationAnnotation).has_value();
  if (!worker.restartable) return;
  worker.ends = pod.container_ends;
  worker.attempt_ends = static_cast<int>(NumberOf(pod, api::kAttemptEndsAnnotation));
  worker.restart_generation = NumberOf(pod, api::kRestartGenerationAnnotation);
  if (!pod.container_running && worker.phase == WorkerPhase::kRunning) {
    worker.phase = WorkerPhase::kStarting;
  }
  if (worker.restart_generation <= worker.attempt || worker.ends <= worker.attempt_ends) return;
  worker.attempt = worker.restart_generation;
  ++worker.attempt_ends;
}

bool Ended(const api::TrainingJob& job) {
  return api::IsTrue(job.status.conditions, "Succeeded") ||
         api::IsTrue(job.status.conditions, "Failed");
}

// What the job says against itself, whatever the hosts are.
std::string ContradictionOf(const api::TrainingJob& job) {
  constexpr int kAnyHost = 1024;
  return Join(
      workload::Problems(
          api::ToJob(job.job, {job.metadata.namespace_name, job.metadata.name}, "", 0, kAnyHost),
          kAnyHost),
      "\n");
}

kube::Target TargetOf(const kube::Resource& resource, const api::TrainingJob& job,
                      std::string name = "") {
  return {resource, job.metadata.namespace_name, std::move(name), ""};
}

// The first error of many writes; the others repeat it or will be met at the retry.
class FirstError {
 public:
  void Add(const absl::Status& status) {
    MutexLock lock(mutex_);
    if (first_.ok()) first_ = status;
  }
  absl::Status status() const {
    MutexLock lock(mutex_);
    return first_;
  }

 private:
  mutable Mutex mutex_;
  absl::Status first_ ABSL_GUARDED_BY(mutex_);
};

bool IsRefusal(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status);
}

}  // namespace

bool ObserveNode(const state::ClusterCache& cache, const std::vector<FaultRule>& rules,
                 const std::string& name, std::int64_t now_ms, HostHealth& hosts) {
  const auto node = cache.FindNode(name);
  HostHealth::Report report = HostHealth::Report::kGone;
  if (!cache.ProblemOf(state::Kind::kNode, name).empty()) {
    report = HostHealth::Report::kUnknown;
  } else if (node != nullptr) {
    report =
        node->ready.value_or(false) ? HostHealth::Report::kReady : HostHealth::Report::kNotReady;
  }
  std::string segment;
  if (node != nullptr) {
    const auto pod = api::Find(node->metadata.labels, api::kFabricPodLabel);
    const auto label = api::Find(node->metadata.labels, api::kSegmentLabel);
    if (label) segment = StrCat(pod.value_or(""), "/", *label);
  }
  const bool changed = hosts.Observe(name, segment, report, now_ms);
  std::vector<NodeFault> faults;
  if (node != nullptr && report != HostHealth::Report::kUnknown) {
    const state::ClusterState world = cache.Take();
    const int nic_ports = world.fabrics.empty() ? 0 : world.fabrics.front()->spec.nic_ports;
    faults = FaultsOf(*node, nic_ports, rules);
  }
  return hosts.ObserveFaults(name, faults, now_ms) || changed;
}

JobController::JobController(kube::Client& client, state::ClusterCache& cache, HostHealth& hosts,
                             HostMarker& marker, const Clock& clock, Notify notify)
    : client_(client),
      cache_(cache),
      hosts_(hosts),
      marker_(marker),
      clock_(clock),
      notify_(std::move(notify)) {}

void JobController::Tell(const api::TrainingJob& job, bool warning, std::string reason,
                         std::string note) {
  notify_({job.metadata.namespace_name, job.metadata.name, job.metadata.uid, warning,
           std::move(reason), std::move(note)});
}

Worker JobController::Observe(const api::TrainingJob& job, int rank, Obstacle& obstacle,
                              api::CheckpointMark& checkpoint) {
  Worker worker;
  const std::string name = PodName(job.metadata.name, rank);
  const auto pod = cache_.FindPod(StrCat(job.metadata.namespace_name, "/", name));
  if (pod == nullptr) return worker;
  const api::OwnerReference* owner = pod->metadata.controller();
  if (owner == nullptr || owner->uid != job.metadata.uid) {
    // A pod of an earlier job of this name is on its way out.
    const bool earlier = owner != nullptr && owner->kind == api::kTrainingJobKind &&
                         owner->name == job.metadata.name;
    if (!earlier && obstacle.reason.empty()) {
      obstacle = {kNameTaken, StrCat("metadata.name: pod ", name,
                                     " exists and does not belong to this job; delete the pod or "
                                     "create the job under another name")};
    }
    return worker;
  }
  worker.phase = PhaseOf(*pod);
  worker.deleting = pod->metadata.deleted_ms.has_value();
  worker.uid = pod->metadata.uid;
  worker.host = pod->node_name;
  ReadAttempt(*pod, worker);
  worker.exits = pod->exits;
  worker.final_conditions = pod->final_conditions;
  worker.checkpoint_request =
      api::Find(pod->metadata.annotations, api::kCheckpointRequestAnnotation).value_or("");
  if (const auto text = api::Find(pod->metadata.annotations, api::kCheckpointAnnotation)) {
    const auto mark = api::DecodeCheckpointMark(*text);
    // A time that is yet to come would answer every later request.
    if (mark.ok() && mark->time_ms > checkpoint.time_ms && mark->time_ms <= clock_.WallMs()) {
      checkpoint = *mark;
    }
  }
  if (!worker.host.empty() && !pod->finished()) {
    worker.host_gone = cache_.FindNode(worker.host) == nullptr;
    worker.host_verdict = hosts_.Judge(
        worker.host, std::int64_t{1000} * job.recovery.host_grace_seconds, clock_.SteadyMs());
    if (worker.host_verdict.state == HostState::kLost) {
      worker.host_fenced = marker_.IsFenced(worker.host);
    }
  }
  return worker;
}

JobObservation JobController::Observe(const api::TrainingJob& job, Obstacle& obstacle,
                                      api::CheckpointMark& checkpoint) {
  checkpoint = {job.status.checkpoint.last_ms, job.status.checkpoint.cost_seconds};
  JobObservation observed;
  observed.checkpoint = job.checkpoint;
  observed.policy = job.recovery;
  observed.run = job.run;
  // While hosts are chosen, provided or given back the job has no pods, as if it were suspended.
  observed.run.suspended = job.run.suspended || job.status.capacity.holds_job();
  observed.start_ms = job.status.start_ms;
  observed.recovery = job.status.recovery;
  observed.ended = Ended(job);
  observed.now_ms = clock_.WallMs();
  const api::Condition* running = api::FindCondition(job.status.conditions, "Running");
  if (running != nullptr && running->status == api::ConditionStatus::kTrue) {
    observed.running_ms = observed.now_ms - running->transition_ms;
  }
  for (int rank = 0; rank < job.job.workers; ++rank) {
    observed.workers.push_back(Observe(job, rank, obstacle, checkpoint));
  }
  observed.checkpoint_ms = checkpoint.time_ms;
  // Nothing of ours makes such a pod; it would take part in the job's Service.
  const std::string surplus = PodName(job.metadata.name, job.job.workers);
  const auto pod = cache_.FindPod(StrCat(job.metadata.namespace_name, "/", surplus));
  const api::OwnerReference* owner = pod == nullptr ? nullptr : pod->metadata.controller();
  if (owner != nullptr && owner->uid == job.metadata.uid && obstacle.reason.empty()) {
    obstacle = {"SurplusWorkers",
                StrCat("spec.workers: is ", job.job.workers, " and pod ", surplus,
                       " has a rank above; delete that pod and those of higher ranks")};
  }
  return observed;
}

// The watch of pods may be behind the one of jobs: that a worker is gone is asked of the server
// before a job is restarted for it.
absl::StatusOr<bool> JobController::IsConfirmed(const api::TrainingJob& job, const JobStep& step) {
  const api::Incident& incident = step.recovery.incidents.back();
  if (!step.decided || incident.cause != api::IncidentCause::kWorkerRemoved) return true;
  auto pod =
      client_.Get(TargetOf(kube::Pods(), job, PodName(job.metadata.name, incident.ranks.front())));
  if (absl::IsNotFound(pod.status())) return true;
  YM_RETURN_IF_ERROR(pod.status());
  return (*pod)["metadata"].contains("deletionTimestamp");
}

absl::Status JobController::CreateService(const nlohmann::json& job, Obstacle& obstacle) {
  const nlohmann::json wanted = BuildService(job);
  const std::string ns = wanted["metadata"]["namespace"];
  const std::string name = wanted["metadata"]["name"];
  const absl::Status created =
      client_.Create({kube::Services(), ns, "", ""}, wanted, {kFieldManager, false, false})
          .status();
  if (!absl::IsAlreadyExists(created)) return created;
  YM_ASSIGN_OR_RETURN(const nlohmann::json there, client_.Get({kube::Services(), ns, name, ""}));
  const nlohmann::json owners =
      there.value("/metadata/ownerReferences"_json_pointer, nlohmann::json::array());
  for (const nlohmann::json& owner : owners) {
    if (owner.value("uid", "") == wanted["metadata"]["ownerReferences"][0]["uid"]) {
      return absl::OkStatus();
    }
  }
  obstacle = {kNameTaken, StrCat("metadata.name: Service ", name,
                                 " exists and does not belong to this job; delete the Service or "
                                 "create the job under another name")};
  return absl::OkStatus();
}

// Slow start: after one pod was accepted two are sent, then four, so that a job that is refused
// costs one request a try.
absl::Status JobController::CreateWorkers(const api::TrainingJob& job,
                                          const std::vector<int>& ranks, Obstacle& obstacle) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json object,
                      client_.Get(TargetOf(kube::TrainingJobs(), job, job.metadata.name)));
  YM_RETURN_IF_ERROR(CreateService(object, obstacle));
  if (!obstacle.reason.empty()) return absl::OkStatus();
  WorkerShape shape{job.job.workers, job.job.gpus_per_worker, job.job.gpu_resource,
                    job.status.recovery.attempt, job.job.parallelism};
  std::vector<std::string> avoided;
  for (const api::AvoidedHost& host : job.status.recovery.avoided) {
    if (host.until_ms > clock_.WallMs()) avoided.push_back(host.host);
  }
  shape.avoid_hosts = Join(avoided, ",");
  shape.restarts_in_place = job.recovery.in_place_seconds > 0;
  std::size_t batch = 1;
  for (std::size_t from = 0; from < ranks.size(); from += batch, batch *= 2) {
    batch = std::min(batch, ranks.size() - from);
    FirstError error;
    ParallelFor(batch, kWriteThreads, [&](std::size_t i) {
      auto pod =
          client_.Create(TargetOf(kube::Pods(), job), BuildPod(object, shape, ranks[from + i]),
                         {kFieldManager, false, false});
      // The cache may be behind: a pod that is there already is what we want.
      if (!pod.ok() && !absl::IsAlreadyExists(pod.status())) error.Add(pod.status());
    });
    const absl::Status status = error.status();
    if (status.ok()) continue;
    if (IsRefusal(status)) {
      const std::string text = MessageOf(status);
      const bool quota = text.find("exceeded quota") != std::string::npos;
      obstacle = {quota ? "QuotaExceeded" : "PodsRefused",
                  StrCat("spec.template: ", text, "; ",
                         quota ? "raise the quota or make the job smaller"
                               : "change what the message names")};
    }
    return status;
  }
  return absl::OkStatus();
}

absl::Status JobController::MarkWorkers(const api::TrainingJob& job,
                                        const std::vector<InPlace>& marks) {
  FirstError error;
  ParallelFor(marks.size(), kWriteThreads, [&](std::size_t i) {
    const InPlace& mark = marks[i];
    const nlohmann::json patch = {
        {"metadata",
         {{"uid", mark.uid},
          {"annotations",
           {{api::kAttemptAnnotation, StrCat(mark.attempt)},
            {api::kAttemptEndsAnnotation, StrCat(mark.attempt_ends)},
            {api::kRestartGenerationAnnotation, StrCat(mark.restart_generation)}}}}}};
    auto pod = client_.Patch(TargetOf(kube::Pods(), job, PodName(job.metadata.name, mark.rank)),
                             kube::MergePatch(patch), {kFieldManager, false, false});
    if (pod.ok()) {
      cache_.Assume(state::Kind::kPod, *pod);
    } else if (!absl::IsNotFound(pod.status()) && !absl::IsAborted(pod.status())) {
      error.Add(pod.status());
    }
  });
  return error.status();
}

absl::Status JobController::RemoveWorkers(const api::TrainingJob& job,
                                          const std::vector<Removal>& removals) {
  FirstError error;
  ParallelFor(removals.size(), kWriteThreads, [&](std::size_t i) {
    const Removal& removal = removals[i];
    kube::DeleteOptions options;
    options.uid = removal.uid;
    if (removal.force) options.grace_period_seconds = 0;
    const absl::Status deleted = client_.Delete(
        TargetOf(kube::Pods(), job, PodName(job.metadata.name, removal.rank)), options);
    // Gone, or another life of the pod.
    if (absl::IsNotFound(deleted) || absl::IsAborted(deleted) ||
        absl::IsFailedPrecondition(deleted)) {
      return;
    }
    if (!deleted.ok()) error.Add(deleted);
  });
  return error.status();
}

absl::Status JobController::WriteStatus(api::TrainingJob& job,
                                        const api::TrainingJobStatus& status) {
  if (status == job.status) return absl::OkStatus();
  nlohmann::json patch = {{"metadata", {{"uid", job.metadata.uid}}},
                          {"status", api::EncodeTrainingJobStatus(status)}};
  if (!job.metadata.resource_version.empty()) {
    patch["metadata"]["resourceVersion"] = job.metadata.resource_version;
  }
  // A merge patch keeps what it does not name.
  for (const char* field : {"startTime", "completionTime", "intensity", "level", "elastic"}) {
    if (!patch["status"].contains(field)) patch["status"][field] = nullptr;
  }
  YM_ASSIGN_OR_RETURN(const nlohmann::json written,
                      client_.Patch({kube::TrainingJobs(), job.metadata.namespace_name,
                                     job.metadata.name, "status"},
                                    kube::MergePatch(patch), {kFieldManager, false, false}));
  cache_.Assume(state::Kind::kTrainingJob, written);
  job.metadata.resource_version = kube::ResourceVersionOf(written);
  job.status = status;
  return absl::OkStatus();
}

void JobController::CountLostWork(const api::TrainingJobStatus& before,
                                  const api::TrainingJobStatus& after) {
  MutexLock lock(lost_mutex_);
  for (const auto& [cause, seconds] : after.lost_gpu_seconds) {
    const auto known = before.lost_gpu_seconds.find(cause);
    const double more = seconds - (known == before.lost_gpu_seconds.end() ? 0 : known->second);
    if (more > 0) lost_gpu_seconds_[cause] += more;
  }
}

std::map<std::string, double> JobController::lost_gpu_seconds() const {
  MutexLock lock(lost_mutex_);
  return lost_gpu_seconds_;
}

int JobController::ChoosePort(const api::TrainingJob& job) {
  if (job.status.rendezvous_port != 0 || !UsesHostNetwork(*job.pod_template)) {
    return job.status.rendezvous_port;
  }
  MutexLock lock(ports_mutex_);
  std::set<int> taken;
  std::set<std::string> alive;
  for (const auto& other : cache_.Take().jobs) {
    const std::string& uid = other->metadata.uid;
    alive.insert(uid);
    if (uid != job.metadata.uid && !Ended(*other)) taken.insert(other->status.rendezvous_port);
  }
  std::erase_if(ports_, [&](const auto& chosen) { return alive.count(chosen.first) == 0; });
  for (const auto& [uid, port] : ports_) {
    if (uid != job.metadata.uid) taken.insert(port);
  }
  return ports_[job.metadata.uid] = ChooseHostPort(job.metadata.uid, taken);
}

absl::Status JobController::RequestCheckpoint(const api::TrainingJob& job,
                                              const JobObservation& observed,
                                              std::int64_t time_ms) {
  const std::string time = FormatTime(time_ms);
  FirstError error;
  ParallelFor(observed.workers.size(), kWriteThreads, [&](std::size_t rank) {
    const Worker& worker = observed.workers[rank];
    if (worker.phase != WorkerPhase::kRunning || worker.checkpoint_request == time) return;
    const nlohmann::json patch = {
        {"metadata",
         {{"uid", worker.uid}, {"annotations", {{api::kCheckpointRequestAnnotation, time}}}}}};
    auto pod = client_.Patch(
        TargetOf(kube::Pods(), job, PodName(job.metadata.name, static_cast<int>(rank))),
        kube::MergePatch(patch), {kFieldManager, false, false});
    if (!pod.ok() && !absl::IsNotFound(pod.status()) && !absl::IsAborted(pod.status())) {
      error.Add(pod.status());
    }
  });
  return error.status();
}

absl::StatusOr<std::optional<std::int64_t>> JobController::CleanUp(const api::TrainingJob& job) {
  Obstacle ignored;
  api::CheckpointMark checkpoint;
  std::int64_t end_ms = job.status.completion_ms;
  for (const char* type : {"Succeeded", "Failed"}) {
    const api::Condition* end = api::FindCondition(job.status.conditions, type);
    // A version that did not keep the time has ended it.
    if (end_ms == 0 && end != nullptr) end_ms = end->transition_ms;
  }
  const EndStep step = AfterEnd(Observe(job, ignored, checkpoint), end_ms);
  YM_RETURN_IF_ERROR(RemoveWorkers(job, step.remove));
  if (!step.delete_job) return step.look_again_ms;
  kube::DeleteOptions options;
  options.uid = job.metadata.uid;
  options.propagation = "Background";
  const absl::Status deleted =
      client_.Delete(TargetOf(kube::TrainingJobs(), job, job.metadata.name), options);
  if (!absl::IsNotFound(deleted) && !absl::IsAborted(deleted)) YM_RETURN_IF_ERROR(deleted);
  return std::optional<std::int64_t>();
}

absl::Status JobController::SetStalled(api::TrainingJob& job, const Obstacle& obstacle) {
  const bool stalled = !obstacle.reason.empty();
  if (!stalled && !api::IsTrue(job.status.conditions, kStalled)) return absl::OkStatus();
  api::TrainingJobStatus status = job.status;
  api::SetCondition(
      status.conditions,
      {kStalled, stalled ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
       stalled ? obstacle.reason : "PodsCreated",
       stalled ? obstacle.message : "every worker has its pod", job.metadata.generation, 0},
      clock_.WallMs());
  const bool fresh = status != job.status;
  YM_RETURN_IF_ERROR(WriteStatus(job, status));
  if (stalled && fresh) Tell(job, true, kStalled, obstacle.message);
  return absl::OkStatus();
}

absl::Status JobController::Refuse(const api::TrainingJob& job, const std::string& problem) {
  api::TrainingJob written = job;
  api::TrainingJobStatus status = job.status;
  status.observed_generation = job.metadata.generation;
  const bool fresh = api::SetCondition(
      status.conditions,
      {"Planned", api::ConditionStatus::kFalse, "Invalid", problem, job.metadata.generation, 0},
      clock_.WallMs());
  YM_RETURN_IF_ERROR(WriteStatus(written, status));
  if (fresh) Tell(job, true, "Invalid", problem);
  return absl::OkStatus();
}

// Touches nothing of the status but the condition: the rest may be what cannot be read.
absl::Status JobController::RefuseUnreadable(const std::string& key, const std::string& problem) {
  const std::size_t slash = key.find('/');
  api::TrainingJob job;
  job.metadata.namespace_name = key.substr(0, slash);
  job.metadata.name = key.substr(slash + 1);
  auto object = client_.Get(TargetOf(kube::TrainingJobs(), job, job.metadata.name));
  if (absl::IsNotFound(object.status())) return absl::OkStatus();
  YM_RETURN_IF_ERROR(object.status());
  job.metadata.uid = kube::UidOf(*object);
  const nlohmann::json status = object->value("status", nlohmann::json::object());
  api::FieldErrors errors;
  api::FieldReader in(&status, "status", api::UnknownFields::kIgnore, &errors);
  std::vector<api::Condition> conditions = api::ReadConditions(in);
  const std::int64_t generation = object->value("/metadata/generation"_json_pointer, 0);
  if (!api::SetCondition(
          conditions, {"Planned", api::ConditionStatus::kFalse, "Invalid", problem, generation, 0},
          clock_.WallMs())) {
    return absl::OkStatus();
  }
  const nlohmann::json patch = {
      {"metadata",
       {{"uid", job.metadata.uid}, {"resourceVersion", kube::ResourceVersionOf(*object)}}},
      {"status", {{"conditions", api::EncodeConditions(conditions)}}}};
  YM_RETURN_IF_ERROR(
      client_
          .Patch({kube::TrainingJobs(), job.metadata.namespace_name, job.metadata.name, "status"},
                 kube::MergePatch(patch), {kFieldManager, false, false})
          .status());
  Tell(job, true, "Invalid", problem);
  return absl::OkStatus();
}

absl::Status JobController::Act(api::TrainingJob& job, const JobStep& step, Obstacle& obstacle) {
  for (const std::string& host : step.fence) YM_RETURN_IF_ERROR(marker_.Fence(host));
  absl::Status done = RemoveWorkers(job, step.remove);
  if (done.ok()) done = MarkWorkers(job, step.in_place);
  if (obstacle.reason.empty() && !step.create.empty() && done.ok()) {
    done = CreateWorkers(job, step.create, obstacle);
  }
  if (done.ok() || !obstacle.reason.empty()) YM_RETURN_IF_ERROR(SetStalled(job, obstacle));
  return done;
}

// One event an incident, and one for the end.
void JobController::Announce(const api::TrainingJob& job, const JobStep& step,
                             const api::TrainingJob& before) {
  const api::RecoveryState& recovery = step.recovery;
  if (step.decided && recovery.attempt != before.status.recovery.attempt) {
    Tell(job, true, "Recovering", recovery.incidents.back().message);
  }
  const api::Condition* held = api::FindCondition(job.status.conditions, "Degraded");
  const api::Condition* was = api::FindCondition(before.status.conditions, "Degraded");
  if (!step.held.empty() && held != nullptr && held->reason == "RecoveryHeld" &&
      (was == nullptr || was->reason != held->reason)) {
    Tell(job, true, "RecoveryHeld", step.held);
  }
  if (step.outcome == JobOutcome::kSucceeded) {
    Tell(job, false, "Succeeded", "every worker has succeeded");
  } else if (step.outcome == JobOutcome::kFailed) {
    Tell(job, true, "Failed", recovery.incidents.back().message);
  }
}

absl::StatusOr<std::optional<std::int64_t>> JobController::Reconcile(const std::string& key) {
  const std::optional<std::int64_t> nothing;
  const std::string unreadable = cache_.ProblemOf(state::Kind::kTrainingJob, key);
  if (!unreadable.empty()) {
    YM_RETURN_IF_ERROR(RefuseUnreadable(key, unreadable));
    return nothing;
  }
  const auto found = cache_.FindJob(key);
  // Deleted: the garbage collector takes the pods, the Service and the Gang.
  if (found == nullptr || found->metadata.deleted_ms) return nothing;
  const std::string& managed_by = found->run.managed_by;
  if (!managed_by.empty() && managed_by != api::kManagedByOperator) return nothing;
  if (Ended(*found)) return CleanUp(*found);
  const std::string contradiction = ContradictionOf(*found);
  if (!contradiction.empty()) {
    YM_RETURN_IF_ERROR(Refuse(*found, contradiction));
    return nothing;
  }
  api::TrainingJob job = *found;
  Obstacle obstacle;
  api::CheckpointMark checkpoint;
  JobObservation observed = Observe(job, obstacle, checkpoint);
  const SizeDecision resize = DecideElastic(job, observed);
  // On the way to another size it has no pods, as while it is suspended.
  observed.run.suspended |= resize.target != 0 || job.status.elastic.target != 0;
  JobStep step = NextStep(observed);
  if (resize.look_again_ms) {
    step.look_again_ms =
        std::min(step.look_again_ms.value_or(*resize.look_again_ms), *resize.look_again_ms);
  }
  if (step.decided) {
    YM_ASSIGN_OR_RETURN(const bool confirmed, IsConfirmed(job, step));
    if (!confirmed) return std::optional<std::int64_t>(kUnconfirmedAgainMs);
  }
  const auto gang = cache_.FindGang(StrCat(
      job.metadata.namespace_name, "/", api::GangName(api::kTrainingJobKind, job.metadata.name)));
  api::TrainingJobStatus status = StatusOf(job, gang.get(), step, clock_.WallMs());
  status.rendezvous_port = ChoosePort(job);
  SetSize(job, gang.get(), step, resize, clock_.WallMs(), status);
  if (job.status.elastic.target != 0 && status.elastic.target == 0) {
    YM_ASSIGN_OR_RETURN(const bool holds_hosts, HoldsHosts(job));
    if (holds_hosts) return std::optional<std::int64_t>(kUnconfirmedAgainMs);
  }
  SetCheckpoint(job, checkpoint, observed.now_ms, status);
  AddLostWork(job, observed.now_ms, status);
  const absl::Status written = WriteStatus(job, status);
  if (absl::IsNotFound(written)) return nothing;
  YM_RETURN_IF_ERROR(written);
  CountLostWork(found->status, status);
  if (resize.target != 0) Tell(job, false, "Resizing", resize.why);
  Announce(job, step, *found);
  if (step.request_checkpoint_ms != 0) {
    YM_RETURN_IF_ERROR(RequestCheckpoint(job, observed, step.request_checkpoint_ms));
  }
  YM_RETURN_IF_ERROR(Act(job, step, obstacle));
  if (obstacle.reason.empty()) return step.look_again_ms;
  return std::optional<std::int64_t>(
      std::min(step.look_again_ms.value_or(kNameTakenAgainMs), kNameTakenAgainMs));
}

}  // namespace yardmaster::op
