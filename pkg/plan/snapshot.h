// The cluster at one instant, as plain values: everything that planning needs and nothing that
// changes while it runs. pkg/state builds it from informers, the command line from files; the same
// planner reads both.
//
// Invariants: hosts[i] belongs to HostId(i) of `places`; jobs have unique keys; the hosts of an
// assignment are valid ids; `cluster` counts every occupied GPU once, including promised ones.
// Thread safety: immutable once shared.
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
// The number of pods of a placed job that a budget covers.
struct BudgetUse {
  int budget = 0;  // index into Snapshot::budgets
  int pods = 0;
};

// A placed job with more or fewer workers.
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

// What a terminating pod or gang still holds of a host.
struct Departure {
  fabric::HostId host;
  std::int64_t free_ms = 0;  // wall time at which it is expected to be gone
  int gpus = 0;              // of placement::HostState::free_gpus
  workload::ResourceList requests;
  std::string holder;  // for messages: "TrainingJob default/bert"
  bool operator==(const Departure&) const = default;
};

struct JobState {
  workload::Job job;  // with the workers that it was placed with, once it is placed
  // Shared between copies; never null.
  std::shared_ptr<const workload::WorkerGroups> groups =
      std::make_shared<const workload::WorkerGroups>();
  // Hosts that at least one of its pods may use; shared between jobs with the same pod template.
  // Null: every host.
  std::shared_ptr<const placement::HostSet> eligible;
  // Of these, the hosts that a waiting job uses as long as it fits there. Null: no preference.
  std::shared_ptr<const placement::HostSet> preferred;
  // If its pods may use different hosts: those of each run of ranks. Null: all may use the same.
  std::shared_ptr<const std::vector<placement::RoleHosts>> role_hosts;
  std::optional<Assignment> assignment;  // set once committed
  // For a placed job that moves: the hosts that are kept for it beside those of `assignment`. A
  // rank may keep its host or take that of another rank.
  std::optional<Assignment> next;
  // For a placed job whose owner wants another number of workers; else null.
  std::shared_ptr<const Resize> resize;
  std::vector<int> lost_ranks;  // of a placed job: ranks whose host is gone
  // Why the job is invalid: it is never planned, and these are its reasons. Empty: valid.
  std::vector<std::string> problems;
  // For a placed job: when it started. Gives its expected end, with job.run_seconds.
  std::optional<std::int64_t> started_ms;
  // False: a disruption budget forbids to stop it now.
  bool may_be_preempted = true;
  std::vector<BudgetUse> budgets;
  // For a placed job: its pods were released to their hosts.
  bool released = false;
  // For a placed job: it is being stopped. A search for victims treats its hosts as free.
  bool leaving = false;
  // Of a waiting job. False: no job is preempted or moved for it now.
  bool may_stop_others = true;
  // For a waiting job: since when it waits for hosts that will soon be free (leaving_hosts.h);
  // nullopt: it has not started to.
  std::optional<std::int64_t> awaits_since_ms;
  // For a waiting job that had a place: when it gave the last one back; 0: it had none.
  std::int64_t gave_back_ms = 0;
  // For a waiting job that lost its place through no act of its owner: since when it goes before
  // jobs of its priority (queue.h); nullopt: it does not.
  std::optional<std::int64_t> expedited_since_ms;
  // Grace period to write a checkpoint and end when it is stopped.
  int grace_seconds = 30;
  std::string owner;  // for messages: "TrainingJob default/bert"; empty: by its key
};

// Index into Snapshot::jobs, and into every array that has an entry per job of a snapshot.
using JobId = Id<struct JobTag>;

// Returns the placement request of `state`, which is or may become the job `id`. `state` must
// outlive the result.
inline placement::GangRequest RequestOf(const JobState& state, JobId id) {
  return {&state.job, state.groups.get(), state.eligible.get(), id.value, state.role_hosts.get()};
}

struct Snapshot {
  std::int64_t now_ms = 0;  // wall time of the snapshot
  std::shared_ptr<const fabric::Places> places;
  std::shared_ptr<const fabric::Network> network;  // null: no Fabric exists; placement still works
  placement::Cluster cluster;
  std::vector<JobState> jobs;  // ascending by key
  std::vector<PodBudget> budgets;
  std::vector<Departure> leaving;  // by host, then holder
  // By HostId: the ordinary pods there, by name; null: none. Empty: not known.
  std::vector<std::shared_ptr<const std::vector<OrdinaryPod>>> ordinary_pods;
  std::vector<std::uint8_t> cable_down;  // by CableId; empty: all up
  // Lost as a whole, as the Fabric's status reports; their hosts are unavailable.
  std::vector<fabric::SegmentId> lost_segments;
  std::vector<fabric::DomainId> lost_domains;
  // Input that could not be used, for example Nodes without place labels: "Node n7:
  // metadata.labels...: ...".
  std::vector<std::string> warnings;

  // The extended resource by which GPUs of hosts are counted; without a Fabric, its default.
  const std::string& gpu_resource() const {
    static const std::string kDefault = fabric::FabricSpec().gpu_resource;
    return network != nullptr ? network->spec().gpu_resource : kDefault;
  }
  fabric::IdRange<JobId> job_ids() const { return {0, static_cast<std::int32_t>(jobs.size())}; }
};

}  // namespace yardmaster::plan
