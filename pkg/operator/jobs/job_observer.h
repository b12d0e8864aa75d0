// Observes a TrainingJob: its pods by name, and the hosts that they run on, as the caches have
// them.
//
// Thread safety: as the caches, from any thread. Lifetimes: everything passed in outlives the
// object.
#pragma once

#include "pkg/api/checkpoint_mark.h"
#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"
#include "pkg/operator/hosts/host_health.h"
#include "pkg/operator/hosts/host_marker.h"
#include "pkg/operator/jobs/job_step.h"
#include "pkg/operator/jobs/stall_reason.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

class JobObserver {
 public:
  JobObserver(const state::ClusterCache& cache, HostHealth& hosts, const HostMarker& marker,
              const Clock& clock)
      : cache_(cache), hosts_(hosts), marker_(marker), clock_(clock) {}

  // `checkpoint` becomes the last one that the job has reported. `stall` is set when a pod of
  // another owner, other than an earlier job of this name, has the name of a member, or a pod has a
  // rank that the job no longer has, or the job is held before its first pod (job_hold.h).
  JobObservation Observe(const api::TrainingJob& job, StallReason& stall,
                         api::CheckpointMark& checkpoint) const;

 private:
  // Whether the job has a place, and where ranks without a pod ran. The value: it had one some
  // time.
  bool ObserveSlots(const api::TrainingJob& job, JobObservation& observed) const;
  // Ranks that join, and ranks that are removed again.
  void ObserveResize(const api::TrainingJob& job, JobObservation& observed) const;
  // Its host may hold the job back.
  void ObserveHeldBack(const api::TrainingJob& job, Worker& worker) const;
  // `rank`: the number of a member.
  Worker ObserveWorker(const api::TrainingJob& job, int rank, StallReason& stall,
                       api::CheckpointMark& checkpoint) const;

  const state::ClusterCache& cache_;
  HostHealth& hosts_;
  const HostMarker& marker_;
  const Clock& clock_;
};

}  // namespace yardmaster::op
