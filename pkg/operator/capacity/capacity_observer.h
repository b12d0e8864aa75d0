// Observes a TrainingJob that may rent hosts: its pods, their Nodes, and its Gang.
//
// A rental is left as a whole when one of its hosts is lost, so the job controller leaves such a
// host to the rental's step (LeavesRental). Pods may nevertheless be removed with their Nodes, by
// Kubernetes or a user, and created again. Then a pod that waits for a host while fewer hosts than
// rented are left shows the same.
//
// Reclaimed: a Node of a pod of the job has a taint or condition with action Drain or Replace in
// the table of faults (node_faults.h) that has lasted for its time, or is lost (host_health.h). The
// limits on hosts that are acted on at a time apply to lost hosts and to conditions. They do not
// apply to taints on spot hosts and to Nodes that are gone: a provider reclaims many at once, the
// job keeps its checkpoint, and only jobs on rented hosts move.
//
// Thread safety: any thread, as the cache and HostHealth. Lifetimes: everything passed in outlives
// the object.
#pragma once

#include <string>

#include "pkg/base/clock.h"
#include "pkg/operator/capacity/capacity_step.h"
#include "pkg/operator/hosts/host_health.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

// True if the job leaves its rented hosts because of this host: the host is lost, or a limit
// forbids to treat it as lost although its Node is gone or its provider reclaims the spot host.
// False for a job that has no provided rental, is suspended or deleted, or has ended. `node`: null
// if the Node is gone.
bool LeavesRental(const api::TrainingJob& job, const api::Node* node, const HostVerdict& verdict);

class CapacityObserver {
 public:
  CapacityObserver(const state::ClusterCache& cache, HostHealth& hosts, const Clock& clock)
      : cache_(cache), hosts_(hosts), clock_(clock) {}

  // Does not set the pools, the usage of other jobs, and the objects that request the hosts; the
  // caller does. `job` outlives the observation.
  CapacityObservation Observe(const api::TrainingJob& job) const;

 private:
  // True if the pod is being deleted and its host is lost: it goes when the host is given back.
  bool EndsWithItsHost(const api::TrainingJob& job, const api::Pod& pod) const;
  // Returns the number of pods without a host.
  int ObservePods(const api::TrainingJob& job, CapacityObservation& observed) const;
  void ObserveMissingHosts(const api::TrainingJob& job, CapacityObservation& observed) const;
  // Returns why the host is lost to the job; empty: it is not.
  std::string LossOf(const api::TrainingJob& job, const std::string& host) const;

  const state::ClusterCache& cache_;
  HostHealth& hosts_;
  const Clock& clock_;
};

}  // namespace yardmaster::op
