// Places a TrainingJob before its pods are created.
//
// The operator requests a place for a job without pods by the spec of its Gang. It creates the pods
// once the Gang has hosts and their network is planned: each pod with its host and plan, and
// without the gate (place_request.h). If pods of a job are refused right after it got its place,
// the operator removes all of them, and the Gang gives its hosts back (api::GangPods).
//
// The operator asks admission for the job's first pod by a dry run. It keeps the answer until the
// job has its pods, ends, or would have another first pod, and uses it for alike jobs, too
// (admission_answers.h). A new process asks again.
//
// Thread safety: as JobController, which calls it for one job on one thread at a time. Lifetimes:
// everything passed in outlives the object.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/client.h"
#include "pkg/operator/jobs/admission_answers.h"
#include "pkg/operator/jobs/job_observation.h"
#include "pkg/operator/jobs/job_step.h"
#include "pkg/operator/jobs/job_turn.h"
#include "pkg/operator/jobs/move_terms.h"
#include "pkg/operator/jobs/quota_check.h"
#include "pkg/operator/jobs/worker_writes.h"
#include "pkg/operator/network/planned_ranks.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

struct PlaceOptions {
  bool first = false;  // false: the pods of every job are created first, behind the gate
  // The network plans with which pods are created; null: they are created without and get them
  // later.
  const PlannedRanks* network = nullptr;
  // After this wait a gang's pods are created without a network plan; 0: no wait.
  std::int64_t network_wait_ms = 0;
  std::int64_t least_run_ms = kLeastRunMs;  // minimum run time before a job may be moved
};

class JobPlacer {
 public:
  // Writes a warning event on the job.
  using Warn = std::function<void(const api::TrainingJob& job, const std::string& reason,
                                  const std::string& note)>;
  // How missing pods are created.
  enum class Making {
    kBehindGate,  // behind the gate, unless former_pods.h allows a replacement its former place
    kAsk,         // not yet: the Gang does not request the place that the job needs; call Ask
    kWait,   // not yet: the job waits for hosts, for their network plan, or until its former pods
             // are gone
    kPlaced  // at their place: they are the first pods of a job that has got its place; call Make
  };
  struct Way {
    Making making = Making::kBehindGate;
    std::shared_ptr<const api::Gang> gang = nullptr;  // this job's, or null
    std::int64_t again_ms = 0;                        // look again after this time; 0: no timer
  };

  JobPlacer(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
            WorkerWrites& writes, PlaceOptions options, Warn warn);

  bool places_first() const { return options_.first; }
  Way WayOf(const api::TrainingJob& job, const JobObservation& observed, const JobStep& step);
  // For Making::kAsk: asks admission for the first pod, checks the quotas, and requests the place
  // by the Gang's spec. If the pods of the job must come first, withdraws the request; the job does
  // not wait then.
  absl::Status Ask(const api::TrainingJob& job, const Way& way, StallReason& stall,
                   TurnResult& result);
  // For Making::kPlaced: creates the pods. Returns the number of pods that are left to create.
  absl::StatusOr<std::size_t> Make(const api::TrainingJob& job, const Way& way, const JobStep& step,
                                   const CreateLimit& limit, StallReason& stall,
                                   TurnResult& result);

  bool HasAsked(const api::TrainingJob& job);
  // True if the job has no place and may get one before it has pods.
  bool Asks(const api::TrainingJob& job);
  // Drops cached answers of admission and quotas for the job's namespace, because pods were refused
  // there.
  void NoteRefusal(const api::TrainingJob& job);
  // Forgets what was asked for the job of that key.
  void Forget(const std::string& key);
  // Withdraws the request for a place of a job that gets no pods now: writes `pods` into its Gang.
  absl::Status TakeBack(const api::TrainingJob& job, api::GangPods pods);
  // True if the Gang, as the watch has it, was placed before the pods were created.
  bool IsPlacedFirst(const api::TrainingJob& job) const;
  // True if the Gang requests its place first and has none, or is being stopped. The job requests
  // another place once all of its pods are gone, and creates none meanwhile.
  static bool HasLostPlace(const api::TrainingJob& job, const api::Gang& gang);
  // True if pods were refused after the job got its place, so that the existing ones are removed.
  bool IsTakenBack(const api::TrainingJob& job) const;

  // True if no pod of the job may be created yet, because it moves: the Gang, as the API server has
  // it, still holds the promise of the next hosts, or its plan is newer than the watch has it.
  absl::StatusOr<bool> AwaitsNextPlace(const api::TrainingJob& job);

  // Returns the job's Gang as the watch has it; null if none exists.
  std::shared_ptr<const api::Gang> GangOf(const api::TrainingJob& job) const;
  // Reads the Gang from the API server; null if none exists. The watch of Gangs may be behind, and
  // no pod may be created for a gang that is being stopped.
  absl::StatusOr<std::shared_ptr<const api::Gang>> ReadGang(const api::TrainingJob& job);

 private:
  // The answer of admission for the first pod of a job without pods.
  struct Asked {
    std::size_t sent = 0;  // hash of the pod that was sent
    std::shared_ptr<const api::Pod> first;
    bool pods_first = false;  // the pods of this job must come first (place_request.h)
  };
  // A gang's wait for its network plan.
  struct NetworkWait {
    std::string gang_uid;
    std::int64_t plan_generation = 0;
    std::int64_t since_ms = 0;  // steady clock
    bool late = false;          // the wait is over, and the event was written
  };

  Way WayOfPlaced(const api::TrainingJob& job, const JobStep& step,
                  std::shared_ptr<const api::Gang> gang);
  // Returns how much longer the first pods of a gang wait for their network plan, in ms; 0: not at
  // all.
  std::int64_t NetworkWaitMs(const api::TrainingJob& job, const api::Gang& gang,
                             const std::vector<int>& ranks);
  // Returns the first pod by a dry run, or by the answer for an alike job.
  absl::StatusOr<std::shared_ptr<const api::Pod>> AskAdmission(const api::TrainingJob& job,
                                                               StallReason& stall);
  absl::Status CheckRoom(const api::TrainingJob& job, const std::shared_ptr<const api::Pod>& first,
                         StallReason& stall);
  std::size_t HashOfFirstPod(const api::TrainingJob& job) const;
  std::optional<WorkerPlace> FirstPlaceOfRank(const api::TrainingJob& job, const api::Gang& gang,
                                              int rank) const;

  kube::Client& client_;
  state::ClusterCache& cache_;
  const Clock& clock_;
  WorkerWrites& writes_;
  const PlaceOptions options_;
  const Warn warn_;
  AdmissionAnswers answers_;
  QuotaReader quotas_;
  Mutex mutex_;
  std::map<std::string, Asked> asked_ ABSL_GUARDED_BY(mutex_);  // by the job's key
  std::map<std::string, NetworkWait> network_waits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
