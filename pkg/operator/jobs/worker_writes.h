// Writes the pods, the Service and the Gang's spec of a TrainingJob.
//
// Every write names the uid of the pod that it was decided for, so that it never reaches a later
// pod of the same name. A pod that is gone, or a name that belongs to another pod by then, is not
// an error: the watch reports it and the job is reconciled again.
//
// A process that may not write any more, because it leads no longer or is about to end, writes no
// further pod of the job: the next leader goes on. After the first error the writes that have not
// begun are left out, too.
//
// Create goes on where the call before it for the same job stopped, if nothing failed: for
// kCreationMs it trusts that the Service is there, and begins with the batch size that was reached.
// A call that is limited in time would otherwise spend its time on the Service and on small
// batches.
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

// Calls of one look at a job that run at the same time: few, which leaves the API server time for
// other jobs.
inline constexpr std::size_t kWriteThreads = 4;
// Of pods of a gang that has its hosts, which stand empty until then.
inline constexpr std::size_t kPlacedWriteThreads = 16;
// How long Create trusts what it has made of a job.
inline constexpr std::int64_t kCreationMs = 10'000;

// When Create ends although pods are left to make: after so many, or after the batch during which
// that long has passed.
struct CreateLimit {
  std::size_t pods = SIZE_MAX;
  std::int64_t duration_ms = INT64_MAX;
  std::size_t calls = kWriteThreads;  // at the same time
};

class WorkerWrites {
 public:
  // `may_write` is asked before every write, from several threads. `threads`: the most calls of one
  // look at the same time, whatever a CreateLimit says.
  WorkerWrites(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
               std::function<bool()> may_write, std::size_t threads = kWriteThreads)
      : client_(client),
        cache_(cache),
        clock_(clock),
        may_write_(std::move(may_write)),
        threads_(threads) {}

  // Where the pod of a rank is made; nullopt: it waits behind the gate. Called from several
  // threads.
  using PlaceOfRank = std::function<std::optional<WorkerPlace>(int rank)>;

  // Creates the job's Service and ComputeDomain where they are missing, and the pods of `ranks`. A
  // pod that exists already is not an error. The Service comes first where all ranks are to be made
  // and no pod was refused at the last try; otherwise the pods come first. Batches grow from one
  // pod, so that a job that is refused costs one request a try, as long as they take less than half
  // of the time of `limit`. A refusal by quota or admission is an error and sets `stall`; a Service
  // of another owner sets `stall` alone. A pod that is refused with its place is made behind the
  // gate. The value: how many of `ranks` are left.
  absl::StatusOr<std::size_t> Create(const api::TrainingJob& job, const std::vector<int>& ranks,
                                     const PlaceOfRank& place_of, const CreateLimit& limit,
                                     StallReason& stall);
  // The pod of rank 0 as admission would make it behind the gate; nothing is made. A refusal is an
  // error and sets `stall`.
  absl::StatusOr<nlohmann::json> TryFirst(const api::TrainingJob& job, StallReason& stall);
  // Whether the job would get its ComputeDomain, if its spec asks for one; nothing is made.
  // `stall`: why not.
  absl::Status TryComputeDomain(const api::TrainingJob& job, StallReason& stall);
  // What TryFirst sends.
  nlohmann::json FirstPodOf(const api::TrainingJob& job) const;
  // Makes the Gang, or writes its spec where it has a version. The value: as it was stored;
  // nullopt: another version of it is there already, which the watch reports.
  absl::StatusOr<std::optional<api::Gang>> WriteGang(const api::Gang& gang);
  // Records on the pods which attempt they are in, and what restarts them in place.
  absl::Status Mark(const api::TrainingJob& job, const std::vector<InPlace>& marks);
  absl::Status Remove(const api::TrainingJob& job, const std::vector<Removal>& removals);
  // Asks every running worker for a checkpoint, once for each `time_ms`.
  absl::Status RequestCheckpoint(const api::TrainingJob& job, const JobObservation& observed,
                                 std::int64_t time_ms);

 private:
  // What Create knows of a job whose pods it has begun to make.
  struct Creation {
    std::int64_t generation = 0;
    std::int64_t begin_ms = 0;
    std::size_t batch = 1;
    bool has_service = false;
    bool has_domain = false;
  };

  // Unavailable where this process does not lead any more.
  absl::Status CheckLeads() const;
  WorkerShape ShapeOf(const api::TrainingJob& job) const;
  // As the last call has kept it, or a new one.
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
