// QueueController runs TrainingJobs through the queues of Kueue: it creates the Workload of a job
// that names a queue, follows the Workload, and writes into the job's status.queue whether the job
// may have pods (queue_step.h). The job controller reads only that status.
//
//   - Every write carries a resourceVersion or uid, so a write that was decided from an older state
//     has no effect.
//   - If the answer to a write is lost, the next reconcile decides again.
//   - If Kueue is not installed, the controller writes no Workload. It reports that in the status
//     of jobs that wait for quota (jobs/job_hold.h).
//   - A job whose spec.managedBy names another controller is left alone, so that MultiKueue can
//     send it to another cluster.
//   - The Workload of a deleted job has a finalizer, which the controller removes when every pod of
//     the job has ended. Until then its quota counts as used.
//
// Thread safety: Reconcile may run on several threads for different keys, but not for one key at a
// time. Lifetimes: everything passed in outlives the controller.
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

  // `may_write`: whether this process still leads. Empty: it always does.
  QueueController(kube::Client& client, state::ClusterCache& cache, WorkloadCache& workloads,
                  const Clock& clock, Notify notify, std::function<bool()> may_write = nullptr);

  // Reconciles the job of this key. Returns after how many milliseconds to reconcile again;
  // nullopt: when something changes. Errors: those of the API server; the caller retries with
  // backoff.
  absl::StatusOr<std::optional<std::int64_t>> Reconcile(const std::string& key);

 private:
  absl::Status LetGoOfOthers(const std::string& key, const std::string& uid);
  QueueFacts FactsOf(const api::TrainingJob& job, const api::KueueWorkload* workload) const;
  bool HasPods(const api::TrainingJob& job, bool live) const;
  absl::StatusOr<std::optional<std::int64_t>> CarryOut(api::TrainingJob& job,
                                                       const api::KueueWorkload* workload,
                                                       const QueueStep& step);
  // Reports that Workloads are not read, in the status of a job that waits in its queue.
  absl::Status SayNotFollowed(api::TrainingJob& job);
  absl::Status WriteStatus(api::TrainingJob& job, const api::QueueStatus& status);
  absl::Status Act(const api::TrainingJob& job, const api::KueueWorkload* workload,
                   const QueueStep& step);
  // Both return why the step cannot be done now; empty: it is done.
  absl::StatusOr<std::string> Create(const api::TrainingJob& job);
  absl::StatusOr<std::string> Admit(api::TrainingJob& job, const api::KueueWorkload& workload);
  absl::StatusOr<bool> HoldsHosts(const api::TrainingJob& job);
  // Errors: NotFound if the class does not exist.
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
