// Reconciles TrainingJobs: one key ("namespace/name") at a time, level triggered. A reconcile
// observes the job, its pods by name, their hosts and its Gang, computes the step (job_step.h),
// writes the status under the resourceVersion on which the step was decided, and only then creates
// and removes pods.
//
//   - Placement: a job without pods first gets its place, then its pods (job_placer.h). A
//     replacement after an incident is created with the place and network plan of its predecessor,
//     if both still hold (former_pods.h).
//   - Reasons: a condition says why a job cannot run, with the field and the fix: Planned False
//     (Invalid) for a spec that cannot be parsed or contradicts itself; Stalled True
//     (QuotaExceeded, PodsRefused, ServiceRefused, NameTaken, ComputeDomainUnavailable,
//     QueueUnavailable, QueueNotSupported) for pods that cannot be created.
//   - Refusals: if a pod or the Service of a job without a place is refused, everything created is
//     removed, and all is tried again together (refusal_pacer.h). A placed job keeps its pods, and
//     a refused Service is tried until it exists.
//   - Deletion: a job that is asked for a checkpoint by annotation has a finalizer from before its
//     first pod; on deletion it is stopped as for a suspension, and goes once no pod runs. So has a
//     job with a ComputeDomain, which must outlive its pods. Other deleted jobs are left to the
//     garbage collector.
//   - End: after the end of a job its pods are cleaned up and, in time, the job itself (job_end.h).
//   - A status that says little and is soon replaced is delayed (status_pace.h).
//   - A job whose spec.managedBy names another controller is ignored.
//
// Turns: creating pods is most of the work when many jobs arrive, and can wait longest. So it is
// done in turns (JobTurn): a prompt turn decides, writes the status, and creates pods only for a
// job that has run already; background turns create the pods of new jobs, a limited number at a
// time.
//
// Thread safety: Reconcile and RunOnce may run for different keys on several threads, never for one
// key on two; the work queue ensures that. Lifetimes: everything passed in outlives the controller.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

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
#include "pkg/operator/jobs/last_waits.h"
#include "pkg/operator/jobs/status_pace.h"
#include "pkg/operator/jobs/worker_writes.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::op {

class JobController {
 public:
  using Notify = std::function<void(const JobNotice&)>;

  // `may_write` returns whether this process still leads; called before every write of a pod;
  // empty: it always leads. With one write thread the order of writes is deterministic.
  JobController(kube::Client& client, state::ClusterCache& cache, HostHealth& hosts,
                HostMarker& marker, const Clock& clock, Notify notify,
                std::function<bool()> may_write = nullptr,
                std::size_t write_threads = kWriteThreads, PlaceOptions place = {});

  // Runs one turn. Errors: those of the API server; the caller retries with back-off.
  absl::StatusOr<TurnResult> RunOnce(const std::string& key, JobTurn turn);
  // Runs a whole turn. Returns its look_again_ms.
  absl::StatusOr<std::optional<std::int64_t>> Reconcile(const std::string& key);
  // GPU seconds that incidents have cost since the process started, by cause. From any thread.
  std::map<std::string, double> lost_gpu_seconds() const;

 private:
  // When a size fits: it has a place now; the same while no other gang waits; it has hosts beside
  // the running ranks while no other gang waits.
  enum class Fit { kFromScratch, kFromScratchAlone, kInPlaceAlone };
  // One reconcile of a job that has neither ended nor is deleted: decides, writes the status, and
  // carries out the decision.
  absl::StatusOr<TurnResult> Step(const api::TrainingJob& found, JobTurn turn);
  // Carries out what the status of `job` says already.
  absl::StatusOr<TurnResult> CarryOut(api::TrainingJob& job, const JobObservation& observed,
                                      const JobStep& step, JobTurn turn, StallReason& stall);
  // Decides the size of an elastic job; no change while it already goes to another size.
  SizeDecision DecideElastic(const api::TrainingJob& job, const JobObservation& observed);
  // Reads the Gang from the API server, because the watch of Gangs may be behind.
  absl::StatusOr<bool> HoldsHosts(const api::TrainingJob& job);
  int LargestFitOf(const api::TrainingJob& job, const std::vector<int>& sizes, Fit fit);
  // Keeps the pods of ranks that are removed.
  void KeepFormerPods(const api::TrainingJob& job, const JobObservation& observed,
                      const JobStep& step);
  // True if some replacements go to the hosts of their predecessors.
  bool KeepsPlaces(const api::TrainingJob& job, const JobStep& step) const;
  std::optional<WorkerPlace> PlaceOfRank(const api::TrainingJob& job, const api::Gang& gang,
                                         int rank) const;
  absl::StatusOr<bool> IsConfirmed(const api::TrainingJob& job, const JobStep& step);
  void CountLostWork(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after);
  // For jobs with hostNetwork, once: chooses a port that no other job has.
  int ChoosePort(const api::TrainingJob& job);
  // Sets in `result` the pods left to create, and whether they wait.
  absl::Status Act(api::TrainingJob& job, const JobObservation& observed, const JobStep& step,
                   const CreateLimit& limit, StallReason& stall, TurnResult& result);
  // Creates as many pods as `limit` allows. Returns the number of pods left; `waits` as in
  // TurnResult.
  absl::StatusOr<std::size_t> Make(const api::TrainingJob& job, const JobPlacer::Way& way,
                                   const JobStep& step, const CreateLimit& limit,
                                   StallReason& stall, TurnResult& result);
  // Stops a job that is being deleted (docs/lifecycle.md): a checkpoint, its pods, then the
  // finalizer.
  absl::StatusOr<std::optional<std::int64_t>> ShutDown(const api::TrainingJob& found);
  // Aborted if the job has changed since `job`.
  absl::Status SetFinalizer(api::TrainingJob& job, bool wanted);
  // Ends the move of a job that has ended.
  absl::Status EndMove(const api::TrainingJob& job);
  absl::StatusOr<std::optional<std::int64_t>> CleanUp(const api::TrainingJob& job);
  // `reason_of_none`: the reason of the condition if the job is not stalled; empty: it does not
  // change.
  absl::Status SetStalled(api::TrainingJob& job, const JobStep& step, const StallReason& stall,
                          const std::string& reason_of_none);
  // Refuses a job that contradicts itself: it gets no pods; its condition Planned and one event say
  // why.
  absl::Status Refuse(const api::TrainingJob& job, const std::string& problem);
  absl::Status RefuseUnreadable(const std::string& key, const std::string& problem);
  // Forgets the state of this process for a job that has ended, is deleted or is gone.
  void Forget(const std::string& key);
  // Aborted if the job has changed since `job`; on success `job` is what was written.
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
  LastWaits last_waits_;
  Notify notify_;
  JobPlacer placer_;
  const std::int64_t least_run_ms_;
  mutable Mutex lost_mutex_;
  std::map<std::string, double> lost_gpu_seconds_ ABSL_GUARDED_BY(lost_mutex_);
  StatusPace statuses_;
  Mutex builder_mutex_;
  // For elastic jobs: finds out whether another size would fit.
  state::SnapshotBuilder builder_ ABSL_GUARDED_BY(builder_mutex_);
  Mutex ports_mutex_;
  // Ports chosen by this process, by the job's uid: the cache may not have them yet.
  std::map<std::string, int> ports_ ABSL_GUARDED_BY(ports_mutex_);
};

// Returns the status that follows from a step and from what the extender wrote into the Gang (null:
// none yet).
api::TrainingJobStatus StatusOf(const api::TrainingJob& job, const api::Gang* gang,
                                const JobStep& step, std::int64_t now_ms);

// Sets the size of an elastic job in `status`: a target that was decided, or that is reached
// because no pod is left and the hosts are given back; for a change in place, the new size, and its
// end once every rank runs or no rank is left to remove.
void SetSize(const api::TrainingJob& job, const api::Gang* gang, const JobStep& step,
             const SizeDecision& resize, std::int64_t now_ms, api::TrainingJobStatus& status);

}  // namespace yardmaster::op
