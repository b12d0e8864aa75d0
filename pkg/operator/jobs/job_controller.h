// Runs TrainingJobs: one key ("namespace/name") at a time, level triggered. A reconcile looks at
// the job, its pods by name, their hosts and its Gang, takes the step that job_step.h says, writes
// the status with what was decided under the resourceVersion that it was decided on, and only then
// makes and removes pods.
//
// A job without pods gets its place first, and then its pods (job_placer.h).
//
// The reason why a job cannot run is a condition with the field and the fix: Planned False
// (Invalid) for a spec that cannot be read or contradicts itself, Stalled True (QuotaExceeded,
// PodsRefused, ServiceRefused, NameTaken, ComputeDomainUnavailable, QueueUnavailable,
// QueueNotSupported) for pods that cannot be made.
// Where a pod or the Service of a job without a place is refused, the turns in which it waits take
// back what it has, and all is tried again together (refusal_pacer.h). A job that has a place keeps
// its pods, and a Service that was refused is tried until it is there.
//
// A job that is asked for a checkpoint by annotation has a finalizer from before its first pod is
// made: when it is deleted it is stopped as for a suspension, and goes when no pod runs any more.
// So has one with a ComputeDomain, which is to outlive its pods.
// Other jobs that are deleted are left to the garbage collector.
//
// A rank that is made again after an incident is made with the place and the network plan that it
// had, where both still hold (former_pods.h).
//
// A status that says little and is followed by another one soon is not written (status_pace.h).
//
// A job whose spec.managedBy names another controller is left alone. After the end of a job its
// pods are cleaned up and, in time, the job itself (job_end.h).
//
// Making pods is most of the work when many jobs arrive at once, and can wait longer than anything
// else. It is therefore done in turns (JobTurn): a prompt one decides and writes the status, and
// makes pods only of a job that has run already; the pods of new jobs are made in background turns,
// a limited number at a time.
//
// Thread safety: Reconcile and RunOnce may run for different keys on several threads, never for one
// key on two (the work queue sees to that). Lifetimes: everything passed in outlives the
// controller.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/checkpoint_mark.h"
#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/client.h"
#include "pkg/operator/hosts/host_health.h"
#include "pkg/operator/hosts/host_marker.h"
#include "pkg/operator/job_notice.h"
#include "pkg/operator/jobs/elastic_size.h"
#include "pkg/operator/jobs/former_pods.h"
#include "pkg/operator/jobs/job_observer.h"
#include "pkg/operator/jobs/job_placer.h"
#include "pkg/operator/jobs/job_step.h"
#include "pkg/operator/jobs/job_turn.h"
#include "pkg/operator/jobs/status_pace.h"
#include "pkg/operator/jobs/worker_writes.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::op {

class JobController {
 public:
  using Notify = std::function<void(const JobNotice&)>;

  // `may_write`: whether this process still leads, asked before every write of a pod; empty: it
  // always does. With one write thread the order of writes follows from what is observed.
  JobController(kube::Client& client, state::ClusterCache& cache, HostHealth& hosts,
                HostMarker& marker, const Clock& clock, Notify notify,
                std::function<bool()> may_write = nullptr,
                std::size_t write_threads = kWriteThreads, PlaceOptions place = {});

  // Errors: what the API server said; the caller retries with backoff.
  absl::StatusOr<TurnResult> RunOnce(const std::string& key, JobTurn turn);
  // A whole turn; the value is its look_again_ms.
  absl::StatusOr<std::optional<std::int64_t>> Reconcile(const std::string& key);
  // GPU seconds that incidents have cost since the process began, by cause. From any thread.
  std::map<std::string, double> lost_gpu_seconds() const;

 private:
  // What is asked of a size: a place now; the same while no other gang waits; hosts beside the
  // ranks that run, while no other gang waits.
  enum class Fit { kFromScratch, kFromScratchAlone, kInPlaceAlone };
  // One look at a job that has neither ended nor is deleted: decides, writes the status, and
  // carries out what was decided.
  absl::StatusOr<TurnResult> Step(const api::TrainingJob& found, JobTurn turn);
  // What the status of `job` says already.
  absl::StatusOr<TurnResult> CarryOut(api::TrainingJob& job, const JobObservation& observed,
                                      const JobStep& step, JobTurn turn, StallReason& stall);
  // What follows for the size of an elastic job; nothing changes while it goes to a size already.
  SizeDecision DecideElastic(const api::TrainingJob& job, const JobObservation& observed);
  // Reads the Gang from the API server, because the watch of Gangs may be behind.
  absl::StatusOr<bool> HoldsHosts(const api::TrainingJob& job);
  int LargestFitOf(const api::TrainingJob& job, const std::vector<int>& sizes, Fit fit);
  // Those of ranks that go.
  void KeepFormerPods(const api::TrainingJob& job, const JobObservation& observed,
                      const JobStep& step);
  // Some of the pods that are made again go where those before them ran.
  bool KeepsPlaces(const api::TrainingJob& job, const JobStep& step) const;
  std::optional<WorkerPlace> PlaceOfRank(const api::TrainingJob& job, const api::Gang& gang,
                                         int rank) const;
  absl::StatusOr<bool> IsConfirmed(const api::TrainingJob& job, const JobStep& step);
  void CountLostWork(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after);
  // Of jobs with hostNetwork, once: a port that no other job has.
  int ChoosePort(const api::TrainingJob& job);
  // Pods that are left to make, and whether they wait, come into `result`.
  absl::Status Act(api::TrainingJob& job, const JobObservation& observed, const JobStep& step,
                   const CreateLimit& limit, StallReason& stall, TurnResult& result);
  // As much of it as `limit` allows. The value: pods that are left to make; `waits` as in
  // TurnResult.
  absl::StatusOr<std::size_t> Make(const api::TrainingJob& job, const JobPlacer::Way& way,
                                   const JobStep& step, const CreateLimit& limit,
                                   StallReason& stall, TurnResult& result);
  // Of a job that is being deleted (docs/lifecycle.md): a checkpoint, its pods, then the finalizer.
  absl::StatusOr<std::optional<std::int64_t>> ShutDown(const api::TrainingJob& found);
  // Aborted when the job is newer than `job`.
  absl::Status SetFinalizer(api::TrainingJob& job, bool wanted);
  // Of a job that has ended.
  absl::Status EndMove(const api::TrainingJob& job);
  absl::StatusOr<std::optional<std::int64_t>> CleanUp(const api::TrainingJob& job);
  // `reason_of_none`: of the condition where nothing is in the way; empty: it stays as it is.
  absl::Status SetStalled(api::TrainingJob& job, const JobStep& step, const StallReason& stall,
                          const std::string& reason_of_none);
  // A job that contradicts itself gets no pods; its condition Planned and one event say why.
  absl::Status Refuse(const api::TrainingJob& job, const std::string& problem);
  absl::Status RefuseUnreadable(const std::string& key, const std::string& problem);
  // What this process knows of a job that has ended, is deleted or is gone.
  void Forget(const std::string& key);
  // Aborted when the job is newer than `job`; on success `job` is what was written.
  absl::Status WriteStatus(api::TrainingJob& job, const api::TrainingJobStatus& status);
  void Announce(const api::TrainingJob& job, const JobStep& step, const api::TrainingJob& before);
  void AnnounceMove(const api::TrainingJob& job, const api::JobMove& before);
  void EmitEvent(const api::TrainingJob& job, bool warning, std::string reason, std::string note);

  kube::Client& client_;
  state::ClusterCache& cache_;
  HostMarker& marker_;
  const Clock& clock_;
  HostHealth& hosts_;
  JobObserver observer_;
  WorkerWrites writes_;
  FormerPods former_pods_;
  Notify notify_;
  JobPlacer placer_;
  const std::int64_t least_run_ms_;
  mutable Mutex lost_mutex_;
  std::map<std::string, double> lost_gpu_seconds_ ABSL_GUARDED_BY(lost_mutex_);
  StatusPace statuses_;
  Mutex builder_mutex_;
  // For elastic jobs: whether another size would fit.
  state::SnapshotBuilder builder_ ABSL_GUARDED_BY(builder_mutex_);
  Mutex ports_mutex_;
  // Chosen by this process, by the job's uid: the cache may not have them yet.
  std::map<std::string, int> ports_ ABSL_GUARDED_BY(ports_mutex_);
};

// The status that follows from a step and from what the extender wrote into the Gang (null: none
// yet).
api::TrainingJobStatus StatusOf(const api::TrainingJob& job, const api::Gang* gang,
                                const JobStep& step, std::int64_t now_ms);

// The size of an elastic job: a target that was decided on, or that is reached because no pod is
// left and the hosts are given back; of a change in place, the new size, and its end once every
// rank runs or no rank is left to remove.
void SetSize(const api::TrainingJob& job, const api::Gang* gang, const JobStep& step,
             const SizeDecision& resize, std::int64_t now_ms, api::TrainingJobStatus& status);

}  // namespace yardmaster::op
