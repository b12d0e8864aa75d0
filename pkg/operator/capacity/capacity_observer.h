// Observes a TrainingJob that may rent hosts: its pods, the Nodes under them, and its Gang.
//
// A rental is left as a whole when one of its hosts is lost, so the job controller leaves such a
// host to the rental's step (LeavesRental). Pods may be removed with their Nodes all the same, by
// Kubernetes or by hand, and made again: a pod that waits for a host while fewer than were rented
// are left says the same.
//
// Reclaimed: a Node under a pod of the job has a taint or condition with action Drain or Replace in
// the table of faults (node_faults.h) that has held for its time, or is lost (host_health.h). The
// bounds on hosts that are acted on at a time hold for lost hosts and for conditions. They do not
// hold for taints on spot hosts and for Nodes that are gone: a provider takes many back together,
// the job keeps its checkpoint, and only jobs on rented hosts are moved.
//
// Thread safety: as the cache and HostHealth, from any thread. Lifetimes: everything passed in
// outlives the object.
#pragma once

#include <string>

#include "pkg/base/clock.h"
#include "pkg/operator/capacity/capacity_step.h"
#include "pkg/operator/hosts/host_health.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

// Whether the job leaves its rented hosts because of this host: the host is lost, or the bounds
// forbid to treat it as lost although its Node is gone or its provider takes the spot host back.
// False for a job that has no provided rental, is suspended or deleted, or has ended. `node`: null
// when the Node is gone.
bool LeavesRental(const api::TrainingJob& job, const api::Node* node, const HostVerdict& verdict);

class CapacityObserver {
 public:
  CapacityObserver(const state::ClusterCache& cache, HostHealth& hosts, const Clock& clock)
      : cache_(cache), hosts_(hosts), clock_(clock) {}

  // Without pools, what other jobs use, and what asks for the hosts: the caller fills them in.
  // `job` outlives the observation.
  CapacityObservation Observe(const api::TrainingJob& job) const;

 private:
  // Whether the pod is being deleted and its host is lost: such a pod goes when the host is given
  // back.
  bool EndsWithItsHost(const api::TrainingJob& job, const api::Pod& pod) const;
  // The value: pods without a host.
  int ObservePods(const api::TrainingJob& job, CapacityObservation& observed) const;
  void ObserveMissingHosts(const api::TrainingJob& job, CapacityObservation& observed) const;
  // Why the host is lost to the job; empty: it stays.
  std::string LossOf(const api::TrainingJob& job, const std::string& host) const;

  const state::ClusterCache& cache_;
  HostHealth& hosts_;
  const Clock& clock_;
};

}  // namespace yardmaster::op
