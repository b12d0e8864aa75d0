// Rents hosts for TrainingJobs with a cost cap and gives them back: one key ("namespace/name") at a
// time, level triggered. A reconcile looks at the job, its pods and their Nodes, its Gang, the
// CapacityPools and what asks for its hosts, takes the step that capacity_step.h says, writes
// status.capacity and the condition CapacityReady under the resourceVersion that it was decided on,
// and only then creates or deletes ProvisioningRequests, PodTemplates and NodeClaims
// (capacity_objects.h).
//
// The job's pods are the job controller's: it keeps them away while status.capacity.holds_job(), as
// for a suspension, with the job's own way to a checkpoint.
//
// Two jobs never get the same room of a pool: choices are made one after the other, and each is in
// the cache before the next.
//
// Thread safety: Reconcile may run for different keys on several threads, never for one key on two.
// Uses from any thread. Lifetimes: everything passed in outlives the controller.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/client.h"
#include "pkg/operator/capacity/capacity_objects.h"
#include "pkg/operator/capacity/capacity_observer.h"
#include "pkg/operator/capacity/capacity_step.h"
#include "pkg/operator/capacity/rental_sweeper.h"
#include "pkg/operator/job_notice.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

// What is rented now, of one pool under one contract.
struct PoolUse {
  std::string pool;
  std::string type;
  std::string currency;
  int chosen = 0;    // hosts that were asked for
  int provided = 0;  // hosts that exist
  double cost_per_hour = 0;
};

class CapacityController {
 public:
  using Notify = std::function<void(const JobNotice&)>;

  // `may_write`: whether this process still leads, asked before each object that asks for hosts;
  // empty: it always does. Without `renting` no host is chosen and nothing is swept, and the job's
  // condition says so.
  CapacityController(kube::Client& client, state::ClusterCache& cache, HostHealth& hosts,
                     const Clock& clock, Notify notify, std::function<bool()> may_write = nullptr,
                     bool renting = true);

  // Errors: what the API server said; the caller retries with backoff. The value: look again after
  // that many milliseconds although nothing has changed.
  absl::StatusOr<std::optional<std::int64_t>> Reconcile(const std::string& key);
  // Gives back what asks for hosts and no decision names (rental_sweeper.h). By one thread.
  absl::Status Sweep();

  // By pool and type.
  std::vector<PoolUse> Uses() const;
  // Rentals that jobs began to leave since the process began, by reason.
  std::map<std::string, double> ends() const;
  // "namespace/name" of each job that may rent hosts or has a rental: a change of a pool may
  // concern it.
  std::vector<std::string> Keys() const;

 private:
  // The objects that ask for a job's hosts, as they were last seen.
  struct Poll {
    std::int64_t generation = 0;
    std::int64_t at_ms = 0;  // steady
    std::vector<nlohmann::json> found;
    std::vector<bool> created;
    std::string refusal;  // why they cannot be created; empty: they can
    Provisioning state;
  };

  absl::StatusOr<Poll> Look(const api::TrainingJob& job);
  // The labels of the job's namespace, where a pool selects by them.
  absl::StatusOr<state::RentalContext> ContextOf(const CapacityObservation& observed);
  absl::Status Write(api::TrainingJob& job, const api::CapacityStatus& status);
  absl::Status Provide(const api::TrainingJob& job, const std::vector<api::CapacityPool>& pools);
  absl::Status Release(const api::TrainingJob& job, const Poll& poll);
  void Announce(const api::TrainingJob& job, const api::CapacityStatus& before);

  kube::Client& client_;
  state::ClusterCache& cache_;
  const Clock& clock_;
  const CapacityObserver observer_;
  Notify notify_;
  std::function<bool()> may_write_;
  const bool renting_;
  RentalSweeper sweeper_;  // used only by the thread that calls Sweep
  Mutex choice_mutex_;     // held from a choice until it is in the cache
  mutable Mutex mutex_;
  std::map<std::string, Poll> polls_ ABSL_GUARDED_BY(mutex_);  // by the job's uid
  std::map<std::string, double> ends_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
