// Runs TrainingJobs: one key ("namespace/name") at a time, level triggered. A reconcile looks at
// the job, its pods by name, their hosts and its Gang, takes the step that job_step.h says, writes
// the status with what was decided under the resourceVersion that it was decided on, and only then
// makes and removes pods.
//
// A job without pods asks for its place first, by the spec of its Gang; its pods are made when the
// Gang has hosts and the network of these is planned, each with its host and its plan and without a
// gate (place_request.h). Where pods of a job that has just got its place are refused, all are
// taken back and the Gang gives its hosts back (api::GangPods).
//
// The reason why a job cannot run is a condition with the field and the fix: Planned False
// (Invalid) for a spec that cannot be read or contradicts itself, Stalled True (QuotaExceeded,
// PodsRefused, ServiceRefused, NameTaken, QueueUnavailable, QueueNotSupported) for pods that cannot
// be made.
// Where a pod or the Service of a job without a place is refused, the turns in which it waits take
// back what it has, and all is tried again together (refusal_pacer.h). A job that has a place keeps
// its pods, and a Service that was refused is tried until it is there.
//
// A job that is asked for a checkpoint by annotation has a finalizer from before its first pod is
// made: when it is deleted it is stopped as for a suspension, and goes when no pod runs any more.
// Other jobs that are deleted are left to the garbage collector.
//
// A rank that is made again after an incident is made with the place and the network plan that it
// had, where both still hold (former_pods.h).
//
// How many workers run changes with every pod of a job that starts: a status in which nothing else
// is new is written once in kCountsMs.
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

#include <algorithm>
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
#include "pkg/operator/jobs/job_step.h"
#include "pkg/operator/jobs/worker_writes.h"
#include "pkg/operator/network/planned_ranks.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::op {

inline constexpr std::int64_t kCountsMs = 1'000;

// Which pods one look at a job may make. Everything else is done in each.
enum class JobTurn {
  kWhole,       // all
  kPrompt,      // of a job that has run in full before, up to the limit of a turn; else none
  kBackground,  // up to the limit of a turn
  kLook  // none: it waits for its try (refusal_pacer.h), and of a part that was made as many pods
         // as a turn may make are taken back
};
struct TurnResult {
  // Look again after this time although nothing has changed.
  std::optional<std::int64_t> look_again_ms;
  // To make: the job needs a background turn. A Service that was refused counts as one.
  std::size_t pods_left = 0;
  std::size_t taken_back = 0;  // pods of a job that waits for its try
  // What is left to make waits for hosts, or for their network plan: no turn helps until the Gang
  // or the plan has changed.
  bool waits = false;

  void LookAgain(std::int64_t in_ms) {
    look_again_ms = std::min(look_again_ms.value_or(in_ms), in_ms);
  }
};

// Jobs whose pods follow their place (place_request.h).
struct PlaceOptions {
  bool first = false;  // false: the pods of every job come first, behind the gate
  // The network plans that pods are made with; null: they are made without, and get them later.
  const PlannedRanks* network = nullptr;
  std::int64_t network_wait_ms = 0;  // then a gang's pods are made without
};

// When a background turn with so many pods is due: jobs with few pods go before larger ones that
// came shortly before, and every one has its turn in the end.
constexpr std::int64_t BackgroundDueMs(std::size_t pods_left) {
  return static_cast<std::int64_t>(pods_left);
}

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
  // As the watch has it; null: none.
  std::shared_ptr<const api::Gang> GangOf(const api::TrainingJob& job) const;
  // Reads the Gang from the API server, because the watch of Gangs may be behind.
  absl::StatusOr<bool> HoldsHosts(const api::TrainingJob& job);
  int LargestFitOf(const api::TrainingJob& job, const std::vector<int>& sizes, Fit fit);
  // Those of ranks that go.
  void KeepFormerPods(const api::TrainingJob& job, const JobObservation& observed,
                      const JobStep& step);
  // As the API server has it, because the watch of Gangs may be behind, and no pod may come to a
  // gang that is being stopped; null: there is none.
  absl::StatusOr<std::shared_ptr<const api::Gang>> ReadGang(const api::TrainingJob& job);
  // Where the pods of `ranks` are made again. Null: each waits behind the gate.
  std::shared_ptr<const api::Gang> PlacesOf(const api::TrainingJob& job, const JobStep& step);
  std::optional<WorkerPlace> PlaceOfRank(const api::TrainingJob& job, const api::Gang& gang,
                                         int rank) const;
  // How the pods that a look wants are to be made (job_place.cc).
  enum class Making {
    kBehindGate,  // but those of ranks that are made again, where PlacesOf allows it
    kAsk,         // the Gang does not say yet what the job asks for
    kWait,        // for hosts, for their network plan, or until the pods before are gone
    kPlaced       // the first pods of a job that has got its place
  };
  struct Way {
    Making making = Making::kBehindGate;
    std::shared_ptr<const api::Gang> gang = nullptr;  // this job's, or null
    std::int64_t again_ms = 0;                        // 0: not by itself
  };
  Way WayOf(const api::TrainingJob& job, const JobObservation& observed, const JobStep& step);
  Way WayOfPlaced(const api::TrainingJob& job, const JobStep& step,
                  std::shared_ptr<const api::Gang> gang);
  // The wait for the network plan of a gang's first pods; 0: it is over.
  std::int64_t NetworkWaitMs(const api::TrainingJob& job, const api::Gang& gang,
                             const std::vector<int>& ranks);
  // Asks admission what the pods are, quotas whether there is room for them, and the ledger for a
  // place. It does not wait then where the pods come first.
  absl::Status Ask(const api::TrainingJob& job, const Way& way, StallReason& stall,
                   TurnResult& result);
  absl::Status CheckRoom(const api::TrainingJob& job, const api::Pod& first, StallReason& stall);
  std::size_t HashOfFirstPod(const api::TrainingJob& job) const;
  bool HasAsked(const api::TrainingJob& job);
  void ForgetRequest(const std::string& key);
  // Where the Gang of a job that gets no pods now asks for a place.
  absl::Status TakeRequestBack(const api::TrainingJob& job, api::GangPods pods);
  // Its pods were refused after it had its place, and those that are there go.
  bool IsTakenBack(const api::TrainingJob& job) const;
  std::optional<WorkerPlace> FirstPlaceOfRank(const api::TrainingJob& job, const api::Gang& gang,
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
  absl::StatusOr<std::size_t> Make(const api::TrainingJob& job, const Way& way, const JobStep& step,
                                   const CreateLimit& limit, StallReason& stall,
                                   TurnResult& result);
  // Of a job that is being deleted (docs/lifecycle.md): a checkpoint, its pods, then the finalizer.
  absl::StatusOr<std::optional<std::int64_t>> ShutDown(const api::TrainingJob& found);
  // Aborted when the job is newer than `job`.
  absl::Status SetFinalizer(api::TrainingJob& job, bool wanted);
  absl::StatusOr<std::optional<std::int64_t>> CleanUp(const api::TrainingJob& job);
  // `reason_of_none`: of the condition where nothing is in the way; empty: it stays as it is.
  absl::Status SetStalled(api::TrainingJob& job, const JobStep& step, const StallReason& stall,
                          const std::string& reason_of_none);
  // A job that contradicts itself gets no pods; its condition Planned and one event say why.
  absl::Status Refuse(const api::TrainingJob& job, const std::string& problem);
  absl::Status RefuseUnreadable(const std::string& key, const std::string& problem);
  // How long `status` may still wait to be written, because it has been written a short time ago
  // and nothing has changed since but how many workers run; 0: not at all.
  std::int64_t CountsWaitMs(const api::TrainingJob& job, const api::TrainingJobStatus& status);
  // Aborted when the job is newer than `job`; on success `job` is what was written.
  absl::Status WriteStatus(api::TrainingJob& job, const api::TrainingJobStatus& status);
  void Announce(const api::TrainingJob& job, const JobStep& step, const api::TrainingJob& before);
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
  mutable Mutex lost_mutex_;
  std::map<std::string, double> lost_gpu_seconds_ ABSL_GUARDED_BY(lost_mutex_);
  Mutex counts_mutex_;
  // When the status was written last, by the job's uid; entries older than kCountsMs are dropped.
  std::map<std::string, std::int64_t> written_ms_ ABSL_GUARDED_BY(counts_mutex_);
  Mutex builder_mutex_;
  // For elastic jobs: whether another size would fit.
  state::SnapshotBuilder builder_ ABSL_GUARDED_BY(builder_mutex_);
  // What admission has made of the first pod of a job without pods.
  struct Asked {
    std::size_t sent = 0;  // hash of what it was asked about
    std::shared_ptr<const api::Pod> first;
    bool pods_first = false;
  };
  // A gang's wait for its network plan.
  struct NetworkWait {
    std::string gang_uid;
    std::int64_t plan_generation = 0;
    std::int64_t since_ms = 0;  // steady
    bool late = false;
  };
  const PlaceOptions place_;
  Mutex place_mutex_;
  std::map<std::string, Asked> asked_ ABSL_GUARDED_BY(place_mutex_);  // by the job's key
  std::map<std::string, NetworkWait> network_waits_ ABSL_GUARDED_BY(place_mutex_);
  Mutex ports_mutex_;
  // Chosen by this process, by the job's uid: the cache may not have them yet.
  std::map<std::string, int> ports_ ABSL_GUARDED_BY(ports_mutex_);
};

// Whether the statuses differ in nothing but how many workers run, in numbers and in messages.
bool OnlyCountsDiffer(const api::TrainingJobStatus& a, const api::TrainingJobStatus& b);

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
