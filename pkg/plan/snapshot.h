// The cluster at one instant, as plain values: everything planning needs and nothing that changes
// while it runs. pkg/state builds it from informers, the command line from files; the same planner
// reads it.
//
// Invariants: hosts[i] belongs to HostId(i) of `places`; jobs have unique keys; an assignment's
// hosts are valid ids; `cluster` counts every occupied GPU once, promised ones included. Thread
// safety: immutable once shared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/fabric/network.h"
#include "pkg/placement/cluster.h"
#include "pkg/placement/gang_request.h"
#include "pkg/workload/job.h"

namespace yardmaster::plan {

// The hosts of a placed gang.
struct Assignment {
  std::vector<fabric::HostId> host_of_rank;
};

// Pods, of any owner, of which only some may be stopped at a time.
struct PodBudget {
  std::string name;  // "namespace/name"
  int allowed = 0;   // pods that may be stopped now
};
// Of a placed job: how many of its pods a budget covers.
struct BudgetUse {
  int budget = 0;  // index into Snapshot::budgets
  int pods = 0;
};

// What a placed job is to become: with more or fewer workers.
struct Resize {
  workload::Job job;
  std::shared_ptr<const workload::WorkerGroups> groups;  // never null
};

// A pod of no placed job, with GPUs.
struct OrdinaryPod {
  std::string name;  // "namespace/name"
  int priority = 0;
  std::int64_t gpus = 0;
  bool operator==(const OrdinaryPod&) const = default;
};

// What a pod that ends, or a gang that does, still holds of a host.
struct Departure {
  fabric::HostId host;
  std::int64_t free_ms = 0;  // when it is expected to be gone: wall time
  int gpus = 0;              // of placement::HostState::free_gpus
  workload::ResourceList requests;
  std::string holder;  // as people know it, "TrainingJob default/bert"
  bool operator==(const Departure&) const = default;
};

struct JobState {
  workload::Job job;  // with the workers that it was placed with, once it is placed
  // Shared between copies; never null.
  std::shared_ptr<const workload::WorkerGroups> groups =
      std::make_shared<const workload::WorkerGroups>();
  // Hosts that some pod of it may use; shared between jobs with the same pod template. Null: every
  // host.
  std::shared_ptr<const placement::HostSet> eligible;
  // Of these, the hosts that a waiting job gets as long as it fits there. Null: no matter which.
  std::shared_ptr<const placement::HostSet> preferred;
  // Of a job whose pods may use different hosts: those of each run of ranks. Null: all are alike.
  std::shared_ptr<const std::vector<placement::RoleHosts>> role_hosts;
  std::optional<Assignment> assignment;  // set once committed
  // Of a placed job that moves: the hosts that are kept for it beside those of `assignment`. A rank
  // may keep its host, or go to that of another.
  std::optional<Assignment> next;
  // Of a placed job whose owner wants another number of workers; else null.
  std::shared_ptr<const Resize> resize;
  std::vector<int> lost_ranks;  // of a placed job: ranks whose host is gone
  // Why the job contradicts itself: it is never planned, and these are its reasons. Empty: valid.
  std::vector<std::string> problems;
  // Of a placed job: when it started, for its expected end (with job.run_seconds).
  std::optional<std::int64_t> started_ms;
  // False: a disruption budget forbids to stop it now.
  bool may_be_preempted = true;
  std::vector<BudgetUse> budgets;
  // Of a placed job: its pods were let go to their hosts.
  bool released = false;
  // Of a placed job: it is being stopped; where victims are sought its hosts are treated as free.
  bool leaving = false;
  // Of a waiting job. False: no job is preempted for it now.
  bool may_stop_others = true;
  // Of a waiting job: since when it waits for hosts that come free soon (leaving_hosts.h); nothing:
  // it has not begun to.
  std::optional<std::int64_t> awaits_since_ms;
  // Of a waiting job that had a place: when it gave the last one back; 0: it had none.
  std::int64_t gave_back_ms = 0;
  // Of a waiting job that lost its place through no act of its owner: since when it goes before
  // jobs of its priority (queue.h); nothing: it does not, or not any more.
  std::optional<std::int64_t> expedited_since_ms;
  // What it is given to write a checkpoint and end when it is stopped.
  int grace_seconds = 30;
  std::string owner;  // as people know it, "TrainingJob default/bert"; empty: by its key
};

// Index into Snapshot::jobs, and into every array that has an entry per job of a snapshot.
using JobId = Id<struct JobTag>;

// What `state`, which is or may become the job `id`, asks of placement. `state` must outlive it.
inline placement::GangRequest RequestOf(const JobState& state, JobId id) {
  return {&state.job, state.groups.get(), state.eligible.get(), id.value, state.role_hosts.get()};
}

struct Snapshot {
  std::int64_t now_ms = 0;  // when it was taken: wall time
  std::shared_ptr<const fabric::Places> places;
  std::shared_ptr<const fabric::Network> network;  // null: no Fabric object; placement still works
  placement::Cluster cluster;
  std::vector<JobState> jobs;  // ascending by key
  std::vector<PodBudget> budgets;
  std::vector<Departure> leaving;  // by host, then holder
  // By HostId: the ordinary pods there, by name; null: none. Empty: they are not known.
  std::vector<std::shared_ptr<const std::vector<OrdinaryPod>>> ordinary_pods;
  std::vector<std::uint8_t> cable_down;  // by CableId; empty: all up
  // Lost as a whole, as the Fabric's status says; their hosts are unavailable.
  std::vector<fabric::SegmentId> lost_segments;
  std::vector<fabric::DomainId> lost_domains;
  // What could not be used, e.g. Nodes without place labels: "Node n7: metadata.labels...: ...".
  std::vector<std::string> warnings;

  // The extended resource that GPUs of hosts are counted by; without a Fabric, its default.
  const std::string& gpu_resource() const {
    static const std::string kDefault = fabric::FabricSpec().gpu_resource;
    return network != nullptr ? network->spec().gpu_resource : kDefault;
  }
  fabric::IdRange<JobId> job_ids() const { return {0, static_cast<std::int32_t>(jobs.size())}; }
};

}  // namespace yardmaster::plan
