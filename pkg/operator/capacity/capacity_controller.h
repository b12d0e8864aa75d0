// Rents hosts for TrainingJobs with a cost cap and gives them back: one key ("namespace/name") at a
// time, level triggered. A reconcile observes the job, its pods and their Nodes, its Gang, the
// CapacityPools and the objects that request its hosts. It computes the step (capacity_step.h),
// writes status.capacity and the condition CapacityReady under the resourceVersion on which the
// step was decided, and only then creates or deletes ProvisioningRequests, PodTemplates and
// NodeClaims (capacity_objects.h).
//
// The job controller owns the job's pods. It creates none while status.capacity.holds_job(), as for
// a suspension, and asks for a checkpoint in the job's own way.
//
// Two jobs never get the same hosts of a pool: choices are made one after the other, and each is in
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

// The hosts that are rented of one pool under one contract.
struct PoolUse {
  std::string pool;
  std::string type;
  std::string currency;
  int chosen = 0;    // hosts requested
  int provided = 0;  // hosts that exist
  double cost_per_hour = 0;
};

class CapacityController {
 public:
  using Notify = std::function<void(const JobNotice&)>;

  // `may_write` returns whether this process still leads; called before each object that requests
  // hosts; empty: it always leads. Without `renting` no host is chosen and nothing is swept, and
  // the job's condition says so.
  CapacityController(kube::Client& client, state::ClusterCache& cache, HostHealth& hosts,
                     const Clock& clock, Notify notify, std::function<bool()> may_write = nullptr,
                     bool renting = true);

  // Errors: those of the API server; the caller retries with back-off. Returns the time in ms after
  // which to reconcile again even if nothing changes.
  absl::StatusOr<std::optional<std::int64_t>> Reconcile(const std::string& key);
  // Deletes objects that request hosts and belong to no decision (rental_sweeper.h). From one
  // thread.
  absl::Status Sweep();

  // By pool and type.
  std::vector<PoolUse> Uses() const;
  // Rentals that jobs began to leave since the process started, by reason.
  std::map<std::string, double> ends() const;
  // Returns "namespace/name" of each job that may rent hosts or has a rental, which a change of a
  // pool may affect.
  std::vector<std::string> Keys() const;

 private:
  // The objects that request a job's hosts, as last seen.
  struct Poll {
    std::int64_t generation = 0;
    std::int64_t at_ms = 0;  // steady clock
    std::vector<nlohmann::json> found;
    std::vector<bool> created;
    std::string refusal;  // why they cannot be created; empty: they can
    Provisioning state;
  };

  absl::StatusOr<Poll> Look(const api::TrainingJob& job);
  // Reads the labels of the job's namespace, if a pool selects by them.
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
