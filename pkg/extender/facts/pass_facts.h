// The state of one pass of the planner: objects, gangs, what holds each host, and the snapshot on
// which places are planned.
//
// Steps read the facts and cannot change them. The executor owns them and changes them only by
// Apply, which takes one fact that the pass has learned from its own writes or from a step, and
// costs as much as what changes.
//
// Invariants: `victims` follows from `gangs` and `isolated`. `snapshot` and `holds` follow from the
// other members at the time of SetSnapshot (planning_snapshot.h) and from the changes since, except
// for the gangs in `not_in_snapshot`.
//
// Thread safety: values.
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

// A fact about a gang that holds for the rest of the pass.
enum class GangMark {
  kStopping,  // placed and being stopped: none of its pods is released
  kGrowing,   // placed and growing: some of its new pods do not exist yet
  kLeftOut,   // without a place, and not planned in this pass
};

struct PassFacts {
  struct Times {
    std::int64_t wall_ms = 0;
    std::int64_t steady_ms = 0;
  };

  Times now;  // of the current decision
  state::ClusterState cluster;
  std::vector<gather::PodPtr> idle_pods;     // gated, although they request no GPU
  std::vector<gather::PodPtr> leaving_pods;  // on a node with GPUs, being deleted, of no gang
  std::int64_t await_limit_ms =
      0;  // how long a gang may wait for hosts that will be free; 0: not at all
  GatheredGangs gathered;
  Gangs gangs;
  // Gangs that are neither planned nor released, and why. They keep their promises.
  std::map<NamespacedName, std::string> isolated;
  // Gangs whose writes failed and back off: nothing is written for them.
  std::set<NamespacedName> backing_off;
  // Gangs with a write that may still take effect, as they would be after it. Nothing else is
  // written for them.
  Gangs indeterminate;
  std::map<GangMark, std::set<NamespacedName>> marks;
  // Placed gangs that a preemption stops, each with the gang for which it is stopped.
  std::map<NamespacedName, NamespacedName> victims;
  // The highest priority among the Gangs that this pass had no time to create. Gangs of lower
  // priority are not planned.
  std::optional<std::int64_t> left_priority;
  std::optional<std::vector<api::DisruptionBudget>> budgets;  // nullopt: not read in this pass

  std::shared_ptr<const VolumesByClaim> volumes;  // of waiting pods; null: none is known

  std::optional<plan::Snapshot> snapshot;
  std::vector<Hold> holds;
  // Gangs that got or lost hosts since SetSnapshot in another way than by Placed.
  std::set<NamespacedName> not_in_snapshot;
  std::map<NamespacedName, std::string> waiting;  // gangs without a place in this pass, and why

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
  // False if a new snapshot is needed.
  bool snapshot_is_current() const { return snapshot.has_value() && not_in_snapshot.empty(); }
  // Null if it does not exist.
  GangPtr FindGang(const NamespacedName& key) const {
    const auto at = gangs.find(key);
    return at == gangs.end() ? nullptr : at->second;
  }
  // Null if it has no pods.
  const gather::GatheredGang* GatheredOf(const NamespacedName& key) const {
    const auto at = gathered.find(key);
    return at == gathered.end() ? nullptr : at->second.get();
  }
  // REQUIRES: a job of the snapshot.
  const plan::JobState& Job(plan::JobId job) const { return snapshot->jobs[job.index()]; }
  const GangPtr& GangOf(plan::JobId job) const { return gangs.at(Job(job).job.key); }
};

// --- Changes of the facts.

// A newer version of a Gang was read or written.
struct GangRead {
  GangPtr gang;
  // The pods with the ranks that this version gives them; null: unchanged.
  std::shared_ptr<const gather::GatheredGang> pods = nullptr;
};
struct GangDeleted {
  NamespacedName gang;
};
// A write of the Gang may still take effect.
struct GangMayBecome {
  GangPtr attempted;
};
// The plan was committed. `resized`: the job now has the size that its owner wants.
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
// The gang got no place in this pass.
struct GangWaits {
  NamespacedName gang;
  std::string why;
};
// Hosts are reserved for a waiting job until the pass ends.
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
  std::shared_ptr<const VolumesByClaim> volumes;  // all known volumes
};
using Change = std::variant<GangRead, GangDeleted, GangMayBecome, Placed, GangMarked, GangIsolated,
                            GangWaits, HostsReserved, PriorityLeft, BudgetsRead, VolumesRead>;

void Apply(Change change, PassFacts& facts);

// --- Derived from the facts.

// Returns the victim of a preemption while it holds its hosts. Null if it gave them back, is gone
// or was created again.
GangPtr HoldingVictim(const Gangs& gangs, const api::VictimReference& victim);
std::map<NamespacedName, NamespacedName> VictimsOf(const PassFacts& facts);
// Returns the id of the job with that key; invalid if there is none.
plan::JobId IdOfJob(const plan::Snapshot& snapshot, const NamespacedName& key);

}  // namespace yardmaster::extender
