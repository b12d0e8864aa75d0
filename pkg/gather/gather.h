// Gathers pods into gangs: which pods belong together, which rank each has, and whether the set is
// complete. gatherer.h caches the result between passes.
//
// A gang is complete if each of its ranks has a pod that has not finished and is not being deleted,
// or has ended for good (ended_replicas.h). If several such pods have one rank, the newest counts,
// because job controllers create replacements while old pods still terminate. The gang's size comes
// from the TrainingJob, from the owner's labels, from the parallelism annotation, or from a
// DeclaredSizes. Ranks never come from names.
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
#include "pkg/gather/ended_replicas.h"
#include "pkg/state/object_table.h"

namespace yardmaster::gather {

using PodPtr = std::shared_ptr<const api::Pod>;

struct GangMember {
  PodPtr pod;
  // Never null; shared between states of the pod that say the same.
  std::shared_ptr<const api::Membership> membership;
  std::optional<int> rank;  // nullopt: ranks are not assigned yet
};

struct GatheredGang {
  std::string namespace_name;
  std::string name;
  std::string owner_uid;  // a job that is created again under its name has a gang of its own
  std::vector<GangMember> members;  // one pod for every rank that has one
  // Unfinished pods that are being deleted, or that a newer pod of their rank replaces.
  std::vector<GangMember> leaving;
  // Pods whose rank the gang does not have.
  std::vector<GangMember> strays;
  int finished = 0;            // pods that have finished
  int succeeded = 0;           // ranks with a pod that has succeeded
  std::vector<Replica> ended;  // replicas that have ended for good and have no member; ascending
  // The object whose deletion deletes the Gang; without uid: no pod names it.
  api::OwnerReference root;
  // Counts of members: behind the gate of Yardmaster, on no node, behind a gate of another
  // controller.
  int gated = 0;
  int unbound = 0;
  int held_by_others = 0;
  // Every rank 0 .. whole-1 has exactly one member or has ended; -1: not complete, or ranks are not
  // assigned yet.
  int whole = -1;
};

// A pod that cannot be read in full, or that requests a gang and cannot be assigned to one.
struct PodProblem {
  std::string namespace_name;
  std::string pod;
  std::string uid;
  std::string text;  // "Pod ns/name: ..."
  bool operator==(const PodProblem&) const = default;
};

struct Gathered {
  std::vector<GatheredGang> gangs;
  std::vector<PodProblem> problems;
};

// Gathers every pod that requests a gang. Ranks are not assigned: see AssignRanks.
Gathered Gather(const std::vector<PodPtr>& pods);
Gathered Gather(const state::ObjectTable<api::Pod>& pods);

// Returns the gang with its strays among the members, and ranks not assigned.
GatheredGang WithOpenRanks(GatheredGang gang);
// Sets each member's rank from the gang's rank bases and sorts by it; members without a rank below
// `workers` become strays. Sets `whole` and the counts. REQUIRES: ranks are not assigned.
void AssignRanks(const std::vector<api::RankBase>& bases, int workers, GatheredGang& gang);
// Returns what the pods of each run of ranks request of their host and of nodes, in at most 16
// runs; empty if all are equal. If there are too many different amounts, pods with the same GPUs
// and nodes get the largest amounts among them; nullopt if GPUs and nodes change too often, too.
// `of_gang`: the node constraints of pods unless their role states its own; null: node constraints
// are ignored, because the owner or another controller chooses nodes. REQUIRES: AssignRanks,
// complete.
std::optional<std::vector<api::GangRole>> RolesOf(const GatheredGang& ranked,
                                                  const api::NodeConstraints* of_gang);
// Returns the node constraints of the pod from before it was released to a host (api/pin_patch.h).
api::NodeConstraints OwnConstraints(const api::Pod& pod);
// Returns a problem for every stray: its index, and what to do.
std::vector<PodProblem> StrayProblems(const GatheredGang& gang, int workers);
// True if the pods belong to the same instance (uid) of the owner as the Gang.
bool IsSameLife(const api::Gang& gang, const GatheredGang& gathered);

// The size of a gang as stated by objects other than its pods.
struct DeclaredSizes {
  // From the core PodGroups that the pods name; used if the pods do not state a size.
  std::optional<int> of_group;
  std::string why_no_group;  // why the PodGroups do not state it; empty: the pods name none
  // From the owner (extender/steps/owner_replica_lookup.h); used instead of what the pods state.
  std::optional<int> of_owner;
  // The owner was scaled since its pods state their size, and `data` follows the new size. False:
  // sizes that do not multiply to the GPUs of all pods are an error.
  bool was_scaled = false;
};

// Returns the Gang object for a set of pods that has none yet. `job` is the TrainingJob that owns
// them, or null. nullopt: the set is not complete yet, or other controllers hold pods of it.
// Errors: InvalidArgument if it can never be complete unchanged (no size, a parallelism annotation
// that cannot be parsed, pods that request no GPU or GPUs of two resources, gaps in the ranks).
absl::StatusOr<std::optional<api::Gang>> MakeGang(const GatheredGang& gathered,
                                                  const api::TrainingJob* job,
                                                  const DeclaredSizes& declared = {});

// True if every rank 0 .. workers-1 has exactly one member or has ended. REQUIRES: AssignRanks.
inline bool IsComplete(const GatheredGang& gang, int workers) { return gang.whole == workers; }

// True if no pod of the gang runs or can start: each is gated, or is being deleted and was never
// bound.
bool NoneCanRun(const GatheredGang& gang);

// Returns the pods that run or may start at any moment, without terminating ones. Empty if `gang`
// is null.
std::vector<PodPtr> Evictable(const GatheredGang* gang);

// True if the pod was created behind the gate or with its place: it is gated, or has a slot.
bool CameBehindGate(const api::Pod& pod);

// True if some member is on a node.
inline bool AnyBound(const GatheredGang& gang) {
  return gang.unbound < static_cast<int>(gang.members.size());
}

// True if some member names the host that another controller chose for it.
bool NamesHosts(const GatheredGang& gang);

// True if kube-scheduler places the pod together with the others of its core PodGroup: it names
// one, and was created without the gate. The extender observes its gang and does not place it.
bool IsLeftToCore(const api::Pod& pod);
// True if this holds for every member. REQUIRES: members.
bool IsLeftToCore(const GatheredGang& gang);

}  // namespace yardmaster::gather
