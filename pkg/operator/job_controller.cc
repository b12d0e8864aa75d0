#include "pkg/operator/job_controller.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/operator/pod_builder.h"

namespace yardmaster::op {

namespace {

constexpr char kFieldManager[] = "yardmaster-operator";
constexpr std::size_t kWriteThreads = 8;

WorkerPhase PhaseOf(const api::Pod& pod) {
  if (pod.phase == "Succeeded") return WorkerPhase::kSucceeded;
  if (pod.phase == "Failed") return WorkerPhase::kFailed;
  if (pod.phase == "Running") return WorkerPhase::kRunning;
  return pod.gated() ? WorkerPhase::kGated : WorkerPhase::kPending;
}

const char* Why(RemovalCause cause) {
  switch (cause) {
    case RemovalCause::kHostLost:
      return "its host is lost";
    case RemovalCause::kRestart:
      return "a host is lost and the job restarts as a whole";
    case RemovalCause::kFailed:
      return "it failed and is made again";
    case RemovalCause::kJobFailed:
      return "the job has failed";
  }
  return "";
}

bool Ended(const api::TrainingJob& job) {
  return api::IsTrue(job.status.conditions, "Succeeded") ||
         api::IsTrue(job.status.conditions, "Failed");
}

RecoveryPolicy PolicyOf(const api::TrainingJob& job) {
  const HostLoss on_loss[] = {HostLoss::kReplace, HostLoss::kRestart, HostLoss::kFail};
  return {on_loss[static_cast<int>(job.recovery.on_host_loss)],
          std::int64_t{1000} * job.recovery.host_grace_seconds, job.recovery.max_restarts};
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

// The first error of many writes; the others repeat it or will be met at the retry.
class FirstError {
 public:
  void Add(const absl::Status& status) {
    std::lock_guard lock(mutex_);
    if (first_.ok()) first_ = status;
  }
  absl::Status status() const { return first_; }

 private:
  std::mutex mutex_;
  absl::Status first_;
};

}  // namespace

JobController::JobController(kube::Client& client, const state::ClusterCache& cache,
                             const Clock& clock, Notify notify)
    : client_(client), cache_(cache), clock_(clock), notify_(std::move(notify)) {}

std::optional<std::int64_t> JobController::LostFor(const std::string& host) {
  const auto node = cache_.FindNode(host);
  const bool fine = node != nullptr && node->ready.value_or(false);
  std::lock_guard lock(mutex_);
  if (fine) {
    lost_since_.erase(host);
    return std::nullopt;
  }
  const std::int64_t now = clock_.SteadyMs();
  return now - lost_since_.emplace(host, now).first->second;
}

Worker JobController::Observe(const api::TrainingJob& job, int rank) {
  Worker worker;
  const auto pod =
      cache_.FindPod(StrCat(job.metadata.namespace_name, "/", PodName(job.metadata.name, rank)));
  if (pod == nullptr) return worker;
  const api::OwnerReference* owner = pod->metadata.controller();
  // A pod of a former life of the job is as good as missing; the create then says that it is in the
  // way.
  if (owner == nullptr || owner->uid != job.metadata.uid) return worker;
  worker.phase = PhaseOf(*pod);
  worker.deleting = pod->metadata.deleted_ms.has_value();
  worker.uid = pod->metadata.uid;
  worker.host = pod->node_name;
  if (!worker.host.empty()) worker.host_lost_ms = LostFor(worker.host);
  return worker;
}

absl::Status JobController::CreateWorkers(const api::TrainingJob& job,
                                          const std::vector<int>& ranks) {
  if (ranks.empty()) return absl::OkStatus();
  const std::string& ns = job.metadata.namespace_name;
  YM_ASSIGN_OR_RETURN(const nlohmann::json object,
                      client_.Get({kube::TrainingJobs(), ns, job.metadata.name, ""}));
  auto service = client_.Create({kube::Services(), ns, "", ""}, BuildService(object),
                                {kFieldManager, false, false});
  if (!service.ok() && !absl::IsAlreadyExists(service.status())) return service.status();
  FirstError error;
  ParallelFor(ranks.size(), kWriteThreads, [&](std::size_t i) {
    auto pod = client_.Create(
        {kube::Pods(), ns, "", ""},
        BuildPod(object, {job.job.workers, job.job.gpus_per_worker, job.job.gpu_resource},
                 ranks[i]),
        {kFieldManager, false, false});
    // The cache may be behind: a pod that is there already is what we want.
    if (!pod.ok() && !absl::IsAlreadyExists(pod.status())) error.Add(pod.status());
  });
  return error.status();
}

absl::Status JobController::RemoveWorkers(const api::TrainingJob& job,
                                          const std::vector<Removal>& removals, int& restarts) {
  FirstError error;
  for (const Removal& removal : removals) {
    kube::DeleteOptions options;
    options.uid = removal.uid;
    if (removal.force) options.grace_period_seconds = 0;
    const std::string name = PodName(job.metadata.name, removal.rank);
    const absl::Status deleted =
        client_.Delete({kube::Pods(), job.metadata.namespace_name, name, ""}, options);
    // Gone, or another life of the pod.
    if (absl::IsNotFound(deleted) || absl::IsAborted(deleted) ||
        absl::IsFailedPrecondition(deleted)) {
      continue;
    }
    if (!deleted.ok()) {
      error.Add(deleted);
      continue;
    }
    if (removal.cause == RemovalCause::kFailed) ++restarts;
    notify_({job.metadata.namespace_name, job.metadata.name, job.metadata.uid, true,
             "WorkerRemoved",
             StrCat("worker ", removal.rank, " is removed: ", Why(removal.cause))});
  }
  return error.status();
}

absl::Status JobController::WriteStatus(const api::TrainingJob& job,
                                        const api::TrainingJobStatus& status) {
  if (status == job.status) return absl::OkStatus();
  const nlohmann::json patch = {{"metadata", {{"uid", job.metadata.uid}}},
                                {"status", api::EncodeTrainingJobStatus(status)}};
  return client_
      .Patch({kube::TrainingJobs(), job.metadata.namespace_name, job.metadata.name, "status"},
             kube::MergePatch(patch), {kFieldManager, false, false})
      .status();
}

absl::Status JobController::Refuse(const api::TrainingJob& job, const std::string& problem) {
  api::TrainingJobStatus status = job.status;
  status.observed_generation = job.metadata.generation;
  const bool fresh = api::SetCondition(
      status.conditions,
      {"Planned", api::ConditionStatus::kFalse, "Invalid", problem, job.metadata.generation, 0},
      clock_.WallMs());
  YM_RETURN_IF_ERROR(WriteStatus(job, status));
  if (fresh) {
    notify_({job.metadata.namespace_name, job.metadata.name, job.metadata.uid, true, "Invalid",
             problem});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::int64_t>> JobController::Reconcile(const std::string& key) {
  const auto job = cache_.FindJob(key);
  // Deleted: the garbage collector takes the pods, the Service and the Gang.
  if (job == nullptr || job->metadata.deleted_ms) return std::optional<std::int64_t>();
  const std::string contradiction = ContradictionOf(*job);
  if (!contradiction.empty()) {
    YM_RETURN_IF_ERROR(Refuse(*job, contradiction));
    return std::optional<std::int64_t>();
  }
  JobObservation observed;
  observed.restarts = job->status.restarts;
  observed.ended = Ended(*job);
  for (int rank = 0; rank < job->job.workers; ++rank) {
    observed.workers.push_back(Observe(*job, rank));
  }
  JobStep step = NextStep(observed, PolicyOf(*job));
  const auto gang = cache_.FindGang(StrCat(
      job->metadata.namespace_name, "/", api::GangName(api::kTrainingJobKind, job->metadata.name)));
  if (observed.ended) return std::optional<std::int64_t>();

  int restarts = job->status.restarts;
  absl::Status done = CreateWorkers(*job, step.create);
  if (done.ok()) done = RemoveWorkers(*job, step.remove, restarts);
  if (step.outcome == JobOutcome::kRunning) step.restarts = restarts;
  // A job is only said to have ended once everything that belongs to that has been done.
  if (!done.ok()) step.outcome = JobOutcome::kRunning;
  const absl::Status written = WriteStatus(*job, StatusOf(*job, gang.get(), step, clock_.WallMs()));
  YM_RETURN_IF_ERROR(done);
  if (!written.ok() && !absl::IsNotFound(written)) return written;
  if (step.outcome != JobOutcome::kRunning) {
    const bool succeeded = step.outcome == JobOutcome::kSucceeded;
    notify_({job->metadata.namespace_name, job->metadata.name, job->metadata.uid, !succeeded,
             succeeded ? "Succeeded" : "Failed",
             succeeded             ? "every worker has succeeded"
             : step.failed_by_host ? "a worker's host is lost and onHostLoss is Fail"
                                   : "a worker failed and no restart is left"});
  }
  return step.look_again_ms;
}

}  // namespace yardmaster::op
