// Runs TrainingJobs: one key ("namespace/name") at a time, level triggered. A reconcile looks at
// the job, its pods by name, their hosts and its Gang, takes the step that job_step.h says, and
// writes the status.
//
// Thread safety: Reconcile may run for different keys on several threads, never for one key on two
// (the work queue sees to that). Lifetimes: everything passed in outlives the controller.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"
#include "pkg/kube/client.h"
#include "pkg/operator/job_step.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

struct JobNotice {
  std::string namespace_name;
  std::string job;
  std::string uid;
  bool warning = false;
  std::string reason;  // "WorkerRemoved", "Succeeded", "Failed", "Invalid"
  std::string note;
};

class JobController {
 public:
  using Notify = std::function<void(const JobNotice&)>;

  JobController(kube::Client& client, const state::ClusterCache& cache, const Clock& clock,
                Notify notify);

  // Errors: what the API server said; the caller retries with backoff. The value: look again after
  // that many milliseconds although nothing has changed.
  absl::StatusOr<std::optional<std::int64_t>> Reconcile(const std::string& key);

 private:
  Worker Observe(const api::TrainingJob& job, int rank);
  // How long the host has been NotReady or gone, by our own clock; nothing: it is fine.
  std::optional<std::int64_t> LostFor(const std::string& host);
  absl::Status CreateWorkers(const api::TrainingJob& job, const std::vector<int>& ranks);
  // Counts the failed workers that were removed, for the status.
  absl::Status RemoveWorkers(const api::TrainingJob& job, const std::vector<Removal>& removals,
                             int& restarts);
  // A job that contradicts itself gets no pods; it hears why, once.
  absl::Status Refuse(const api::TrainingJob& job, const std::string& problem);
  absl::Status WriteStatus(const api::TrainingJob& job, const api::TrainingJobStatus& status);

  kube::Client& client_;
  const state::ClusterCache& cache_;
  const Clock& clock_;
  Notify notify_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> lost_since_;  // host -> steady time
};

// The status that follows from a step and from what the extender wrote into the Gang (null: none
// yet).
api::TrainingJobStatus StatusOf(const api::TrainingJob& job, const api::Gang* gang,
                                const JobStep& step, std::int64_t now_ms);

}  // namespace yardmaster::op
