// Writes the pods and the Service of a TrainingJob.
//
// Every write names the uid of the pod that it was decided for, so that it never reaches a later pod of the
// same name. A pod that is gone, or a name that belongs to another pod by then, is not an error: the watch
// reports it and the job is reconciled again.
//
// A process that may not write any more, because it leads no longer or is about to end, writes no further pod
// of the job: the next leader goes on. After the first error the writes that have not begun are left out, too.
//
// Thread safety: the methods may run for different jobs on several threads. Lifetimes: everything passed in
// outlives the object.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"
#include "pkg/kube/client.h"
#include "pkg/operator/job_step.h"
#include "pkg/operator/obstacle.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

// When Create ends although pods are left to make: after so many, or after the batch during which that
// long has passed.
struct CreateLimit {
  std::size_t pods = SIZE_MAX;
  std::int64_t duration_ms = INT64_MAX;
};

class WorkerWrites {
 public:
  // `may_write` is asked before every write, from several threads.
  WorkerWrites(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
               std::function<bool()> may_write)
      : client_(client), cache_(cache), clock_(clock), may_write_(std::move(may_write)) {}

  // Creates the job's Service where it is missing, and the pods of `ranks`. One that exists already is fine.
  // A refusal by quota or admission is an error and sets `obstacle`; a Service of another owner sets
  // `obstacle` alone. The value: how many of `ranks` are left.
  absl::StatusOr<std::size_t> Create(const api::TrainingJob& job, const std::vector<int>& ranks,
                                     const CreateLimit& limit, Obstacle& obstacle);
  // Records on the pods which attempt they are in, and what restarts them in place.
  absl::Status Mark(const api::TrainingJob& job, const std::vector<InPlace>& marks);
  absl::Status Remove(const api::TrainingJob& job, const std::vector<Removal>& removals);
  // Asks every running worker for a checkpoint, once for each `time_ms`.
  absl::Status RequestCheckpoint(const api::TrainingJob& job, const JobObservation& observed,
                                 std::int64_t time_ms);

 private:
  absl::Status CreateService(const nlohmann::json& job, Obstacle& obstacle);
  // Calls write(i) for every i in [0, count) on a few threads. Returns the first error.
  absl::Status WriteEach(std::size_t count,
                         const std::function<absl::Status(std::size_t)>& write) const;
  absl::Status Patch(const api::TrainingJob& job, int rank, const nlohmann::json& metadata);

  kube::Client& client_;
  state::ClusterCache& cache_;
  const Clock& clock_;
  const std::function<bool()> may_write_;
};

}  // namespace yardmaster::op
