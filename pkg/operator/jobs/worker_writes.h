// Writes the pods, the Service, the ComputeDomain and the Gang's spec of a TrainingJob.
//
//   - Every write of an existing pod names the uid for which it was decided, so it never affects a
//     later pod of the same name. A pod that is gone, or whose name belongs to another pod now, is
//     not an error: the watch reports it, and the job is reconciled again.
//   - A process that may no longer write, because it lost leadership or is shutting down, stops
//     writing; the next leader continues. After the first error, writes that have not started are
//     skipped.
//   - Create continues where the last call for the same job stopped, if nothing failed: for
//     kCreationMs it assumes that the Service exists, and starts with the batch size that was
//     reached. Otherwise a call with a time limit would spend it on the Service and on small
//     batches.
//
// Thread safety: the methods may run for different jobs on several threads. Lifetimes: everything
// passed in outlives the object.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/client.h"
#include "pkg/operator/jobs/job_step.h"
#include "pkg/operator/jobs/stall_reason.h"
#include "pkg/operator/pods/pod_builder.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

// Concurrent API calls of one reconcile: few, to leave the API server time for other jobs.
inline constexpr std::size_t kWriteThreads = 4;
// The same for a gang that has its hosts, which stay empty until its pods exist.
inline constexpr std::size_t kPlacedWriteThreads = 16;
// How long Create relies on its own earlier writes for a job.
inline constexpr std::int64_t kCreationMs = 10'000;

// When Create returns although pods are left: after `pods` pods, or after the batch during which
// `duration_ms` passes.
struct CreateLimit {
  std::size_t pods = SIZE_MAX;
  std::int64_t duration_ms = INT64_MAX;
  std::size_t calls = kWriteThreads;  // concurrent calls
};

class WorkerWrites {
 public:
  // `may_write` is called before every write, from several threads. `threads`: maximum of
  // concurrent calls of one reconcile; a CreateLimit cannot raise it.
  WorkerWrites(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
               std::function<bool()> may_write, std::size_t threads = kWriteThreads)
      : client_(client),
        cache_(cache),
        clock_(clock),
        may_write_(std::move(may_write)),
        threads_(threads) {}

  // Returns the place for the pod of a rank; nullopt: the pod is created behind the gate. Called
  // from several threads.
  using PlaceOfRank = std::function<std::optional<WorkerPlace>(int rank)>;

  // Creates the job's ComputeDomain and Service if they do not exist, and the pods of `ranks`. A
  // pod that exists already is not an error. Returns how many of `ranks` are left.
  //
  // Order: the Service comes before the pods if all ranks are to be created and no pod was refused
  // at the last attempt, else after them. Batches start with one pod, so that a refused attempt
  // costs one request, and grow while they take less than half of the time of `limit`.
  //
  // Errors: a refusal by quota or admission, which also sets `stall`, and other errors of the API
  // server. A Service of another owner sets `stall` and is no error. A pod that is refused with its
  // place is created behind the gate.
  absl::StatusOr<std::size_t> Create(const api::TrainingJob& job, const std::vector<int>& ranks,
                                     const PlaceOfRank& place_of, const CreateLimit& limit,
                                     StallReason& stall);
  // Returns the pod of rank 0 as admission would return it, behind the gate, by a dry run. A
  // refusal is an error and sets `stall`.
  absl::StatusOr<nlohmann::json> TryFirst(const api::TrainingJob& job, StallReason& stall);
  // Checks by a dry run whether the job would get its ComputeDomain, if its spec requests one. Sets
  // `stall` if not.
  absl::Status TryComputeDomain(const api::TrainingJob& job, StallReason& stall);
  // Returns the pod that TryFirst sends.
  nlohmann::json FirstPodOf(const api::TrainingJob& job) const;
  // Creates the Gang or, if it has a resourceVersion, updates its spec. Returns it as stored;
  // nullopt if another version exists already, which the watch reports.
  absl::StatusOr<std::optional<api::Gang>> WriteGang(const api::Gang& gang);
  // Writes on the pods the attempt to which they belong, and the request to restart in place.
  absl::Status Mark(const api::TrainingJob& job, const std::vector<InPlace>& marks);
  absl::Status Remove(const api::TrainingJob& job, const std::vector<Removal>& removals);
  // Requests a checkpoint from every running worker, once for each `time_ms`.
  absl::Status RequestCheckpoint(const api::TrainingJob& job, const JobObservation& observed,
                                 std::int64_t time_ms);

 private:
  // The progress of Create for a job.
  struct Creation {
    std::int64_t generation = 0;
    std::int64_t begin_ms = 0;
    std::size_t batch = 1;
    bool has_service = false;
    bool has_domain = false;
  };

  // Returns Unavailable if this process no longer leads.
  absl::Status CheckLeads() const;
  WorkerShape ShapeOf(const api::TrainingJob& job) const;
  // Returns the stored progress, or a new one.
  Creation Begin(const api::TrainingJob& job);
  void StoreCreation(const api::TrainingJob& job, const Creation& creation);
  absl::Status EnsureService(const api::TrainingJob& job, Creation& creation, StallReason& stall);
  absl::Status CreateService(const api::TrainingJob& job, StallReason& stall);
  absl::Status PublishNames(const api::TrainingJob& job, const nlohmann::json& service,
                            const nlohmann::json& there);
  absl::Status EnsureComputeDomain(const api::TrainingJob& job, Creation& creation,
                                   StallReason& stall);
  absl::StatusOr<nlohmann::json> CreateMember(const api::TrainingJob& job, const WorkerShape& shape,
                                              int member, const WorkerPlace* place);
  // Calls write(i) for every i in [0, count), `calls` at the same time. Returns the first error.
  absl::Status WriteEach(std::size_t count, const std::function<absl::Status(std::size_t)>& write,
                         std::size_t calls = kWriteThreads) const;
  absl::Status Patch(const api::TrainingJob& job, int rank, const nlohmann::json& metadata);

  kube::Client& client_;
  state::ClusterCache& cache_;
  const Clock& clock_;
  const std::function<bool()> may_write_;
  const std::size_t threads_;
  Mutex creations_mutex_;
  std::map<std::string, Creation> creations_ ABSL_GUARDED_BY(creations_mutex_);  // by the job's uid
};

}  // namespace yardmaster::op
