// From decoded objects to the snapshot that planning reads.
//
// Hosts. Nodes that carry the two place labels of the Fabric (or the default labels without one).
// A Node with GPUs and without them is named in `warnings` and not used. A Node is unavailable when
// it is cordoned, NotReady or being deleted, has a health taint (node_facts.h), or has another
// NoSchedule or NoExecute taint that no job tolerates. A taint that some job tolerates narrows the
// other jobs' hosts instead. The backup label or taint makes a backup host; the taint of promised
// hosts is ignored, because what is promised is counted. Hosts of a segment that the Fabric's
// status calls lost are unavailable, Ready or not. The GPU model of a host is what its Node's label
// nvidia.com/gpu.product says.
//
// Occupation. Unfinished pods with a node hold there what they ask for, GPUs and every other
// resource that some job asks for, too, as kube-scheduler counts it (api/pod_requests.h). A
// committed gang holds its hosts from the commit on, whether its pods are bound yet or not; a pod
// on its slot's host is not counted a second time. So does a gang that moves hold its next hosts
// (api/gang_move.h), less what its ranks hold there already.
//
// Jobs. One per Gang, and one per TrainingJob that has no Gang yet and has not ended; the key is
// (namespace, name of the Gang, present or future: api::GangName). A TrainingJob without a Gang
// whose ranks are all bound is treated as placed where they are. Gangs whose pods have all finished
// are left out.
//
// Everything wrong in one object becomes that job's `problems` or a warning and stops nothing else.
//
// Determinism: the result depends on the ClusterState alone, never on earlier ones.
#pragma once

#include "pkg/plan/snapshot.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/host_capacity.h"
#include "pkg/state/host_index.h"
#include "pkg/state/host_limits.h"
#include "pkg/state/job_index.h"
#include "pkg/state/occupation.h"

namespace yardmaster::state {

// Makes one snapshot after another at the cost of what changed between two ClusterStates. It
// compares them itself: any ClusterState may follow any other.
//
// Cost: O(hosts + jobs) of copying, and for objects that differ: a Node the distinct pod templates;
// a pod that asks for something else its gang; a Gang its ranks. Hosts that come, go or move:
// O(hosts * (distinct pod templates + resources) + bound pods of gangs) of moving what is known.
// Another Fabric, or another number of GPUs per host: all of it,
// O(nodes * distinct pod templates + pods + GPUs of all jobs).
//
// Thread safety: one thread. Lifetimes: snapshots share what does not change with the builder and
// may outlive it.
class SnapshotBuilder {
 public:
  plan::Snapshot Build(const ClusterState& cluster);

 private:
  void FillHosts(plan::Snapshot& snapshot) const;
  void FindLostRanks(KeptJob& job) const;
  bool IsInLostPlace(fabric::HostId host) const;

  HostIndex hosts_;
  HostLimits limits_;
  HostCapacity capacity_;
  JobIndex jobs_;
  Occupation occupation_;
  std::vector<fabric::SegmentId> lost_segments_;
  std::vector<fabric::DomainId> lost_domains_;
};

// One snapshot, made from nothing.
plan::Snapshot BuildSnapshot(const ClusterState& cluster);

}  // namespace yardmaster::state
