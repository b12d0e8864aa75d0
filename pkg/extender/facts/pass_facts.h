// What one pass of the planner knows: objects, gangs, what holds each host, and the snapshot that
// places are planned on.
//
// Steps get the facts as const and never change them. The executor owns them, and Apply is the only
// way on: it takes one thing that the pass has learned, from its own writes or from a step, at the
// cost of what changes.
//
// Invariants: `victims` follows from gangs and isolated; `snapshot` and `holds` follow from the
// rest at the time of SetSnapshot (planning_snapshot.h), and from the changes since, but for
// `not_in_snapshot`. Thread safety: values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "pkg/api/disruption_budget.h"
#include "pkg/extender/facts/host_hold.h"
#include "pkg/extender/facts/volume_reach.h"
#include "pkg/gather/gather.h"
#include "pkg/placement/outcome.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

using GangPtr = std::shared_ptr<const api::Gang>;
using Gangs = std::map<NamespacedName, GangPtr>;
using GatheredGangs = std::map<NamespacedName, std::shared_ptr<const gather::GatheredGang>>;

// What a step has found out about a gang, for the rest of the pass.
enum class GangMark {
  kStopping,  // it is placed and has to stop: none of its pods is released any more
  kGrowing,   // it is placed, and the pods by which it grows are not all there yet
  kLeftOut,   // it has no place and is not planned
};

struct PassFacts {
  struct Times {
    std::int64_t wall_ms = 0;
    std::int64_t steady_ms = 0;
  };

  Times now;  // of the decision that is being made
  state::ClusterState cluster;
  std::vector<gather::PodPtr> idle_pods;     // behind our gate, although they ask for no GPU
  std::vector<gather::PodPtr> leaving_pods;  // with GPUs, on a node, of no gang and being deleted
  std::int64_t await_limit_ms = 0;  // that a gang may wait for hosts that come free; 0: not at all
  GatheredGangs gathered;
  Gangs gangs;
  // Gangs that are neither planned nor released, and why. What they were promised stays theirs.
  std::map<NamespacedName, std::string> isolated;
  // Gangs that wait after failed writes: nothing is written for them.
  std::set<NamespacedName> backing_off;
  // Gangs with a write that may still take effect, as they would be then. Nothing else is written
  // for them.
  Gangs indeterminate;
  std::map<GangMark, std::set<NamespacedName>> marks;
  // Placed gangs that a decision on the ledger stops, and the gang that each makes room for.
  std::map<NamespacedName, NamespacedName> victims;
  // The highest priority of the gangs that this pass has no time to make; those behind it are not
  // planned.
  std::optional<std::int64_t> left_priority;
  std::optional<std::vector<api::DisruptionBudget>> budgets;  // nullopt: not read in this pass

  std::shared_ptr<const VolumesByClaim> volumes;  // of pods that wait; null: none is known

  std::optional<plan::Snapshot> snapshot;
  std::vector<Hold> holds;
  // Gangs that have got or lost hosts since otherwise than by Placed.
  std::set<NamespacedName> not_in_snapshot;
  std::map<NamespacedName, std::string> waiting;  // why gangs got no place in this pass

  bool Is(const NamespacedName& gang, GangMark mark) const {
    const auto at = marks.find(mark);
    return at != marks.end() && at->second.count(gang) != 0;
  }
  bool IsStopping(const NamespacedName& gang) const {
    return victims.count(gang) != 0 || Is(gang, GangMark::kStopping);
  }
  bool IsLeftAlone(const NamespacedName& gang) const {
    return isolated.count(gang) != 0 || backing_off.count(gang) != 0;
  }
  // False: a new snapshot is due.
  bool snapshot_is_current() const { return snapshot.has_value() && not_in_snapshot.empty(); }
  // Null: there is none.
  GangPtr FindGang(const NamespacedName& key) const {
    const auto at = gangs.find(key);
    return at == gangs.end() ? nullptr : at->second;
  }
  // Null: no pod of it is there.
  const gather::GatheredGang* GatheredOf(const NamespacedName& key) const {
    const auto at = gathered.find(key);
    return at == gathered.end() ? nullptr : at->second.get();
  }
  // Of a job of the snapshot.
  const plan::JobState& Job(plan::JobId job) const { return snapshot->jobs[job.index()]; }
  const GangPtr& GangOf(plan::JobId job) const { return gangs.at(Job(job).job.key); }
};

// --- What a pass learns.

// The newest version of a Gang.
struct GangRead {
  GangPtr gang;
  // With the ranks that it gives; null: as before.
  std::shared_ptr<const gather::GatheredGang> pods = nullptr;
};
struct GangDeleted {
  NamespacedName gang;
};
// A write of the Gang may still take effect.
struct GangMayBecome {
  GangPtr attempted;
};
// The plan is on the ledger. `resized`: the job has the size that its owner wants now.
struct Placed {
  plan::JobId job;
  std::vector<fabric::HostId> host_of_rank;
  bool resized = false;
};
struct GangMarked {
  NamespacedName gang;
  GangMark mark;
};
struct GangIsolated {
  NamespacedName gang;
  std::string reason;
};
// It has no place.
struct GangWaits {
  NamespacedName gang;
  std::string why;
};
// Hosts are kept for a job that waits, until the pass ends.
struct HostsReserved {
  plan::JobId job;
  std::vector<fabric::HostId> hosts;
};
struct PriorityLeft {
  std::int64_t priority;
};
struct BudgetsRead {
  std::vector<api::DisruptionBudget> budgets;
};
struct VolumesRead {
  std::shared_ptr<const VolumesByClaim> volumes;  // all that are known
};
using Change = std::variant<GangRead, GangDeleted, GangMayBecome, Placed, GangMarked, GangIsolated,
                            GangWaits, HostsReserved, PriorityLeft, BudgetsRead, VolumesRead>;

void Apply(Change change, PassFacts& facts);

// --- What follows from the facts.

// The victim of a decision while it still holds its hosts; null: it gave them back, is gone or was
// recreated.
GangPtr HoldingVictim(const Gangs& gangs, const api::VictimReference& victim);
std::map<NamespacedName, NamespacedName> VictimsOf(const PassFacts& facts);
// Of the job with that key; not valid: there is none.
plan::JobId IdOfJob(const plan::Snapshot& snapshot, const NamespacedName& key);

}  // namespace yardmaster::extender
