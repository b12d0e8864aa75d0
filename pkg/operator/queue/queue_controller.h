// Runs TrainingJobs through Kueue's queues: makes the Workload of a job that names a queue, follows
// it, and says in the job's status.queue whether the job may have pods (queue_step.h). The job
// controller reads nothing else of it.
//
// Every write carries a resourceVersion or uid, so that one which was decided on an older state has
// no effect; a write whose answer was lost is decided on again. Kueue need not be there: then
// nothing is written, and jobs that are not admitted wait (jobs/job_hold.h).
//
// A job whose spec.managedBy names another controller is left alone, so that MultiKueue may send it
// to another cluster. Of a job that is being deleted, and of one that is gone, the Workload is let
// go when no pod of the job is left.
//
// Thread safety: Reconcile may run for different keys on several threads, never for one key on two.
// Lifetimes: everything passed in outlives the controller.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"
#include "pkg/kube/client.h"
#include "pkg/operator/job_notice.h"
#include "pkg/operator/queue/queue_step.h"
#include "pkg/operator/queue/workload_builder.h"
#include "pkg/operator/queue/workload_cache.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

class QueueController {
 public:
  using Notify = std::function<void(const JobNotice&)>;

  // `may_write`: whether this process still leads; empty: it always does.
  QueueController(kube::Client& client, state::ClusterCache& cache, WorkloadCache& workloads,
                  const Clock& clock, Notify notify, std::function<bool()> may_write = nullptr);

  // One look at the job of this key. The value: look again after that many milliseconds. Errors:
  // what the API server said; the caller retries with backoff.
  absl::StatusOr<std::optional<std::int64_t>> Reconcile(const std::string& key);

 private:
  absl::Status LetGoOfOthers(const std::string& key, const std::string& uid);
  QueueFacts FactsOf(const api::TrainingJob& job, const api::KueueWorkload* workload) const;
  bool HasPods(const api::TrainingJob& job, bool live) const;
  absl::StatusOr<std::optional<std::int64_t>> CarryOut(api::TrainingJob& job,
                                                       const api::KueueWorkload* workload,
                                                       const QueueStep& step);
  // A job that waits in its queue, while nothing here reads Workloads.
  absl::Status SayNotFollowed(api::TrainingJob& job);
  absl::Status WriteStatus(api::TrainingJob& job, const api::QueueStatus& status);
  absl::Status Act(const api::TrainingJob& job, const api::KueueWorkload* workload,
                   const QueueStep& step);
  // The values of these two: why it cannot be done now; empty: it is done.
  absl::StatusOr<std::string> Create(const api::TrainingJob& job);
  absl::StatusOr<std::string> Admit(api::TrainingJob& job, const api::KueueWorkload& workload);
  absl::StatusOr<bool> HoldsHosts(const api::TrainingJob& job);
  // NotFound where the class does not exist.
  absl::StatusOr<QueuePriority> PriorityOf(const api::TrainingJob& job);
  absl::Status PatchStatus(const api::KueueWorkload& workload, nlohmann::json status);
  absl::Status DropFinalizer(const api::KueueWorkload& workload);
  absl::Status Delete(const api::KueueWorkload& workload);
  kube::Target TargetOfWorkload(const api::ObjectMeta& metadata,
                                const std::string& subresource = "") const;
  void EmitEvent(const api::TrainingJob& job, bool warning, const char* reason, std::string note);

  kube::Client& client_;
  state::ClusterCache& cache_;
  WorkloadCache& workloads_;
  const Clock& clock_;
  Notify notify_;
  std::function<bool()> may_write_;
};

}  // namespace yardmaster::op
