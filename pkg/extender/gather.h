// Gathers pods into gangs: which pods belong together, which rank each has, and whether the set is
// complete. gatherer.h keeps the answer from pass to pass.
//
// A gang is complete when each of its ranks has a pod that has not finished. Its size is known from
// the TrainingJob, from the owner's labels, or from the parallelism annotation; ranks never from
// names.
//
// Determinism: gangs by (namespace, name, owner's uid), pods by rank, then name. Thread safety:
// pure functions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/api/pod.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/api/training_job.h"
#include "pkg/state/object_table.h"

namespace yardmaster::extender {

using PodPtr = std::shared_ptr<const api::Pod>;

struct GangMember {
  PodPtr pod;
  api::Membership membership;
  std::optional<int> rank;  // nothing: its subgroup is not among the gang's
};

struct GatheredGang {
  std::string namespace_name;
  std::string name;
  std::string owner_uid;            // a job made again under its name has a gang of its own
  std::vector<GangMember> members;  // pods that have not finished
  int finished = 0;                 // pods that have
  // Of the members: behind our gate, on no node, being deleted.
  int gated = 0;
  int unbound = 0;
  int deleted = 0;
  // Every rank 0 .. whole-1 has exactly one member; -1: not so, or ranks are still open.
  int whole = -1;
};

struct Gathered {
  std::vector<GatheredGang> gangs;
  // "Pod ns/name: ..." for pods that want a gang and cannot be given one.
  std::vector<std::string> problems;
};

// Every pod that wants a gang, by gang. Ranks are left open: see AssignRanks.
Gathered Gather(const std::vector<PodPtr>& pods);
Gathered Gather(const state::ObjectTable<api::Pod>& pods);

// Sets each member's rank from the gang's bases, sorts by it, and sets `whole`.
void AssignRanks(const std::vector<api::RankBase>& bases, GatheredGang& gang);

// The Gang object for a set of pods that has none yet. `job` is the TrainingJob that owns them, or
// null. Nothing: the set is not complete yet. Errors: InvalidArgument when it never will be as it
// stands (no size, a parallelism annotation that cannot be read, pods that ask for no GPU or for
// different numbers).
absl::StatusOr<std::optional<api::Gang>> MakeGang(const GatheredGang& gathered,
                                                  const api::TrainingJob* job);

// Every rank 0 .. workers-1 has exactly one member. REQUIRES: AssignRanks.
inline bool IsComplete(const GatheredGang& gang, int workers) { return gang.whole == workers; }

// Pods that run or may start at any moment, without those that are on their way out. None of null.
std::vector<PodPtr> Evictable(const GatheredGang* gang);

// Some member is on a node already.
inline bool AnyBound(const GatheredGang& gang) {
  return gang.unbound < static_cast<int>(gang.members.size());
}

}  // namespace yardmaster::extender
