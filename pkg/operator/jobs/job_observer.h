// Observes a TrainingJob: reads its pods by name, and the hosts that they run on, from the caches.
//
// Thread safety: any thread, as the caches. Lifetimes: everything passed in outlives the object.
#pragma once

#include "pkg/api/checkpoint_mark.h"
#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"
#include "pkg/operator/hosts/host_health.h"
#include "pkg/operator/hosts/host_marker.h"
#include "pkg/operator/jobs/job_observation.h"
#include "pkg/operator/jobs/stall_reason.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

class JobObserver {
 public:
  JobObserver(const state::ClusterCache& cache, HostHealth& hosts, const HostMarker& marker,
              const Clock& clock)
      : cache_(cache), hosts_(hosts), marker_(marker), clock_(clock) {}

  // Returns the observation. Sets `checkpoint` to the last one that the job reported. Sets `stall`
  // if a pod of another owner (other than an earlier job of this name) has the name of a member, if
  // a pod has a rank that the job no longer has, or if the job is held before its first pod
  // (job_hold.h).
  JobObservation Observe(const api::TrainingJob& job, StallReason& stall,
                         api::CheckpointMark& checkpoint) const;

 private:
  // Observes whether the job has a place, and where ranks without a pod ran. Returns whether it
  // ever had a place.
  bool ObserveSlots(const api::TrainingJob& job, JobObservation& observed) const;
  // Observes ranks that join, and ranks that are removed again.
  void ObserveResize(const api::TrainingJob& job, JobObservation& observed) const;
  // Observes whether the host of the worker slows the job down.
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
