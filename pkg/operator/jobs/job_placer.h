// Places a TrainingJob before its pods are made.
//
// A job without pods asks for its place by the spec of its Gang; its pods are made when the Gang
// has hosts and the network of these is planned, each with its host and its plan and without a gate
// (place_request.h). Where pods of a job that has just got its place are refused, all are taken
// back and the Gang gives its hosts back (api::GangPods).
//
// What admission said of a job's first pod is kept until the job has its pods, ends, or would make
// another first pod, and is the answer for jobs that are alike, too (admission_answers.h). A
// process that has just begun asks again.
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
  bool first = false;  // false: the pods of every job come first, behind the gate
  // The network plans that pods are made with; null: they are made without, and get them later.
  const PlannedRanks* network = nullptr;
  std::int64_t network_wait_ms = 0;         // then a gang's pods are made without
  std::int64_t least_run_ms = kLeastRunMs;  // before a job may be moved
};

class JobPlacer {
 public:
  // An event on the job, as a warning.
  using Warn = std::function<void(const api::TrainingJob& job, const std::string& reason,
                                  const std::string& note)>;
  // How the pods that a look wants are to be made.
  enum class Making {
    kBehindGate,  // but those of ranks that are made again, where former_pods.h allows it
    kAsk,         // the Gang does not say yet what the job asks for
    kWait,        // for hosts, for their network plan, or until the pods before are gone
    kPlaced       // the first pods of a job that has got its place
  };
  struct Way {
    Making making = Making::kBehindGate;
    std::shared_ptr<const api::Gang> gang = nullptr;  // this job's, or null
    std::int64_t again_ms = 0;                        // 0: not by itself
  };

  JobPlacer(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
            WorkerWrites& writes, PlaceOptions options, Warn warn);

  bool places_first() const { return options_.first; }
  Way WayOf(const api::TrainingJob& job, const JobObservation& observed, const JobStep& step);
  // Of kAsk: asks admission what the pods are, quotas whether there is room for them, and the
  // ledger for a place. The job does not wait then where its pods come first.
  absl::Status Ask(const api::TrainingJob& job, const Way& way, StallReason& stall,
                   TurnResult& result);
  // Of kPlaced. The value: pods that are left to make.
  absl::StatusOr<std::size_t> Make(const api::TrainingJob& job, const Way& way, const JobStep& step,
                                   const CreateLimit& limit, StallReason& stall,
                                   TurnResult& result);

  bool HasAsked(const api::TrainingJob& job);
  // It has no place, and may get one before it has pods.
  bool Asks(const api::TrainingJob& job);
  // Pods of the job were refused: what was learnt of its namespace may hold no longer.
  void NoteRefusal(const api::TrainingJob& job);
  // What was asked for a job of that key.
  void Forget(const std::string& key);
  // Where the Gang of a job that gets no pods now asks for a place.
  absl::Status TakeBack(const api::TrainingJob& job, api::GangPods pods);
  // Its Gang, as the watch has it, was placed before its pods were made.
  bool IsPlacedFirst(const api::TrainingJob& job) const;
  // It has no place although the watch says so, or is being stopped: the job asks for another when
  // all of its pods are gone, and makes none meanwhile.
  static bool HasLostPlace(const api::TrainingJob& job, const api::Gang& gang);
  // Its pods were refused after it had its place, and those that are there go.
  bool IsTakenBack(const api::TrainingJob& job) const;

  // The job moves, and no pod of it may be made yet: the Gang, as the API server has it, still
  // holds the promise of the next hosts, or is newer than what the watch has of it.
  absl::StatusOr<bool> AwaitsNextPlace(const api::TrainingJob& job);

  // The job's Gang as the watch has it; null: none.
  std::shared_ptr<const api::Gang> GangOf(const api::TrainingJob& job) const;
  // As the API server has it, because the watch of Gangs may be behind, and no pod may come to a
  // gang that is being stopped; null: there is none.
  absl::StatusOr<std::shared_ptr<const api::Gang>> ReadGang(const api::TrainingJob& job);

 private:
  // What admission has made of the first pod of a job without pods.
  struct Asked {
    std::size_t sent = 0;  // hash of what it was asked about
    std::shared_ptr<const api::Pod> first;
    bool pods_first = false;  // it says what only pods can say
  };
  // A gang's wait for its network plan.
  struct NetworkWait {
    std::string gang_uid;
    std::int64_t plan_generation = 0;
    std::int64_t since_ms = 0;  // steady
    bool late = false;
  };

  Way WayOfPlaced(const api::TrainingJob& job, const JobStep& step,
                  std::shared_ptr<const api::Gang> gang);
  // The wait for the network plan of a gang's first pods; 0: it is over.
  std::int64_t NetworkWaitMs(const api::TrainingJob& job, const api::Gang& gang,
                             const std::vector<int>& ranks);
  // Of a dry run, or of one for a job that is alike.
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
