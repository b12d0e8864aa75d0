// Which gang a pod belongs to and which rank it has there. It may come from our own operator, an
// indexed Job, JobSet, TrainJob, the training operator's jobs, MPIJob, LeaderWorkerSet, Volcano.
// One table of labels; nothing is ever guessed from a pod's name.
//
// Pods without a controller say themselves that they are a gang: labels yardmaster.dev/job and
// yardmaster.dev/rank, and the annotation yardmaster.dev/gang-size (or the total count of a Kueue
// pod group). Their gang is none of any other owner, whatever name it has.
//
// Labels can be copied. A pod whose controller contradicts its labels is an error: another uid
// where a label carries the controller's, another kind, or another name where the labels give it (a
// JobSet's pods name the JobSet, not the Job that is their controller: only the kind is compared).
// For a pod without a controller its labels are used unchanged; gather::Gatherer can refuse such
// pods.
//
// A pod's labels give its index inside a subgroup (one Job of a JobSet, the masters or the workers
// of a PyTorchJob); ranks number the subgroups one after another. Where a subgroup begins depends
// on the sizes of those before it, so it is computed once from all pods (RankBasesOf) and kept in
// the Gang, which lets a later replacement pod find its rank alone. The label yardmaster.dev/rank,
// on a pod that a row of the table fits, is the rank itself and replaces the row's subgroup and
// index.
//
// Thread safety: values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/gang.h"
#include "pkg/api/pod.h"

namespace yardmaster::api {

// Kind of the owner of gangs whose pods have no controller: the pods own it together.
inline constexpr char kPlainPodKind[] = "Pod";

struct Membership {
  // Kind and name from the table. The uid is empty for kinds some of whose pods have another
  // controller (MPIJob, LeaderWorkerSet): the name identifies their gangs.
  OwnerReference owner;
  std::string gang_name;  // name of the Gang object in the pod's namespace
  std::string subgroup;   // "" where the kind has none
  int index = 0;          // inside the subgroup
  // Pods of the gang, where a label or annotation says so.
  std::optional<int> size;
  // The object with which the gang comes and goes, as garbage collection needs it. An empty uid:
  // this pod does not know it, another one of the gang does.
  OwnerReference root = {};
};

// Whether a pod is ours to gather: it asks for GPUs, or for devices by resource claims, was not
// released without a place, and stands behind our gate, says its parallelism, or was made by our
// operator. Others are ordinary pods, regardless of their owner. A pod without GPUs is gathered if
// it says its parallelism and its kind numbers it with the workers: a pod of a LeaderWorkerSet, the
// launcher of an MPIJob with runLauncherAsWorker.
bool WantsGang(const Pod& pod);
// True: WantsGang and ResolveMembership answer the same for both states of a pod, and their labels,
// annotations and owners are equal. False: the answers may be equal all the same.
bool SameMembershipInputs(const Pod& a, const Pod& b);

// Whether the table reads labels, or annotations, of that key.
bool IsMembershipKey(std::string_view key);

// nullopt if no row of the table fits. Errors: InvalidArgument when a row fits and a label it needs
// is missing or is not a number, or when the pod has another controller than its labels say.
absl::StatusOr<std::optional<Membership>> ResolveMembership(const Pod& pod);

// Whether `gang` was made for the object with that uid, and not for a former one of its name. Where
// the kind's pods do not know their owner's uid, the root's decides; where that is not known
// either, the name does.
bool IsOfOwner(const Gang& gang, std::string_view owner_uid, std::string_view root_uid);

// Order of subgroups: numbers by value, then masters, chiefs, launchers and leaders, then by name.
bool SubgroupLess(std::string_view a, std::string_view b);

// First rank of every subgroup. `members` are all pods of one gang.
std::vector<RankBase> RankBasesOf(const std::vector<Membership>& members);
// The rank; nullopt when the subgroup is not among the bases or the index lies beyond its end,
// which is where the next subgroup begins. The last subgroup has no end.
std::optional<int> RankOf(const std::vector<RankBase>& bases, std::string_view subgroup, int index);
inline std::optional<int> RankOf(const std::vector<RankBase>& bases, const Membership& member) {
  return RankOf(bases, member.subgroup, member.index);
}

}  // namespace yardmaster::api
