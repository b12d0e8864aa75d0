// Gathers pods into gangs: which pods belong together, which rank each has, and whether the set is
// complete. gatherer.h keeps the answer from pass to pass.
//
// A gang is complete when each of its ranks has a pod that has not finished and is not being
// deleted, or has ended for good (ended_replicas.h). Of several such pods of one rank the newest
// counts: job controllers make replacements while old pods are still on their way out. The gang's
// size is known from the TrainingJob, from the owner's labels, from the parallelism annotation, or
// from a DeclaredSizes; ranks never come from names.
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
  // Never null; shared between the pod's states, as far as they say the same.
  std::shared_ptr<const api::Membership> membership;
  std::optional<int> rank;  // from 0 to the gang's workers - 1; nullopt: ranks are open
};

struct GatheredGang {
  std::string namespace_name;
  std::string name;
  std::string owner_uid;            // a job made again under its name has a gang of its own
  std::vector<GangMember> members;  // the pod of every rank that has one
  // Unfinished pods that are being deleted, or that a newer pod of their rank replaces.
  std::vector<GangMember> leaving;
  // Pods whose rank the gang does not have.
  std::vector<GangMember> strays;
  int finished = 0;            // pods that have finished
  int succeeded = 0;           // ranks with a pod that has succeeded
  std::vector<Replica> ended;  // for good, and without a member; in order
  // The object with which the Gang comes and goes; no uid: no pod knows it.
  api::OwnerReference root;
  // Of the members: behind our gate, on no node, behind a gate of others.
  int gated = 0;
  int unbound = 0;
  int held_by_others = 0;
  // Every rank 0 .. whole-1 has exactly one member or has ended; -1: not so, or ranks are still
  // open.
  int whole = -1;
};

// A pod that cannot be read in full, or that wants a gang and cannot be given one.
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

// Every pod that wants a gang, by gang. Ranks are left open: see AssignRanks.
Gathered Gather(const std::vector<PodPtr>& pods);
Gathered Gather(const state::ObjectTable<api::Pod>& pods);

// With the strays among the members, and ranks left open.
GatheredGang WithOpenRanks(GatheredGang gang);
// Sets each member's rank from the gang's bases and sorts by it; members without a rank below
// `workers` become strays. Sets `whole` and the counts. REQUIRES: ranks are open.
void AssignRanks(const std::vector<api::RankBase>& bases, int workers, GatheredGang& gang);
// What the pods of each run of ranks ask for, of their host and of nodes, in at most 16 runs; empty
// where all are alike. Pods that ask for too many different amounts count as the largest of those
// that ask for the same GPUs and nodes; nullopt where these change too often, too. `of_gang`: what
// the pods ask of nodes unless their role says it; null: nodes do not count, because the owner or
// another controller says where each may run. REQUIRES: AssignRanks, complete.
std::optional<std::vector<api::GangRole>> RolesOf(const GatheredGang& ranked,
                                                  const api::NodeConstraints* of_gang);
// What the pod asked of nodes before it was released to a host (api/pin_patch.h).
api::NodeConstraints OwnConstraints(const api::Pod& pod);
// One for every stray: which index it has, and what to do.
std::vector<PodProblem> StrayProblems(const GatheredGang& gang, int workers);
// Whether the pods are of the life of the owner that the Gang was made for.
bool IsSameLife(const api::Gang& gang, const GatheredGang& gathered);

// How many pods a gang has, as other objects than its pods say it.
struct DeclaredSizes {
  // The core PodGroups that the pods name say it; used where the pods do not say it.
  std::optional<int> of_group;
  std::string why_no_group;  // why these do not say it; empty: the pods name none
  // The owner says it (steps/owner_replica_lookup.h); used instead of what the pods say.
  std::optional<int> of_owner;
  // A Gang was made of the pods as they say it: the owner was scaled since, and `data` follows.
  // Else sizes that do not multiply to the GPUs of all pods are an error.
  bool was_scaled = false;
};

// The Gang object for a set of pods that has none yet. `job` is the TrainingJob that owns them, or
// null. nullopt: the set is not complete yet, or controllers of others still hold pods of it.
// Errors: InvalidArgument if it can never be complete unchanged (no size, a parallelism annotation
// that cannot be read, pods that ask for no GPU or for GPUs of two resources, ranks that leave
// gaps).
absl::StatusOr<std::optional<api::Gang>> MakeGang(const GatheredGang& gathered,
                                                  const api::TrainingJob* job,
                                                  const DeclaredSizes& declared = {});

// Every rank 0 .. workers-1 has exactly one member or has ended. REQUIRES: AssignRanks.
inline bool IsComplete(const GatheredGang& gang, int workers) { return gang.whole == workers; }

// No pod of it runs or can start: each waits behind our gate, or is being deleted and was never
// bound.
bool NoneCanRun(const GatheredGang& gang);

// Pods that run or may start at any moment, without those that are on their way out. None of null.
std::vector<PodPtr> Evictable(const GatheredGang* gang);

// The pod was made behind our gate or with its place in it: it stands behind the gate, or has its
// slot.
bool CameBehindGate(const api::Pod& pod);

// Some member is on a node already.
inline bool AnyBound(const GatheredGang& gang) {
  return gang.unbound < static_cast<int>(gang.members.size());
}

// Some member names the host that another controller chose for it.
bool NamesHosts(const GatheredGang& gang);

// The pod was handed to kube-scheduler together with others of its core PodGroup: it names one, and
// was made without our gate. Its gang is observed and gets no place from us.
bool IsLeftToCore(const api::Pod& pod);
// Every member was. REQUIRES: members.
bool IsLeftToCore(const GatheredGang& gang);

}  // namespace yardmaster::gather
