// Gathers pods into gangs and caches the result between passes. A pod that came, went or changed
// costs a look at itself and a copy of its gang's list of members. Its labels are parsed again only
// if they, its annotations or its owners have changed.
//
// Determinism: the result depends only on the pods given last. Thread safety: one thread. Returned
// objects stay valid and unchanged.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/gather/gather.h"

namespace yardmaster::gather {

// Whether pods without a controller may belong to the gang of an owner. In manifests that users
// write they have none; in a cluster such a pod has copied labels. Pods that declare themselves a
// gang may always be one.
enum class Orphans { kAccept, kRefuse };
// Whether pods with a parallelism annotation are gathered even if they were not created behind the
// gate. If only some namespaces have the gate, the pods of the others are ordinary ones.
enum class Ungated { kGather, kLeave };

// A pod on which the extender has still to write its rank (extender/steps/number_step.h).
struct UnnumberedPod {
  PodPtr pod;
  NamespacedName gang;
  std::string owner_uid;
};

class Gatherer {
 public:
  explicit Gatherer(Orphans orphans = Orphans::kAccept, Ungated ungated = Ungated::kGather)
      : orphans_(orphans), ungated_(ungated) {}
  Gatherer(Gatherer&&) = default;
  Gatherer& operator=(Gatherer&&) = default;

  // Returns the Gang of these pods; null: none exists, and ranks are not assigned.
  using GangOf = std::function<const api::Gang*(const GatheredGang& pods)>;

  // Replaces the set of pods.
  void Update(const state::ObjectTable<api::Pod>& pods);
  // Adds a new pod, for callers that never call Update.
  void Add(const PodPtr& pod);
  // Returns the gangs by (namespace, name, owner's uid).
  std::vector<std::shared_ptr<const GatheredGang>> Gangs(const GangOf& gang_of);
  // Records which replicas have ended, as the owner of these pods says; kept while the gang has
  // pods. True if it is new.
  bool NoteEnded(const GatheredGang& pods, std::vector<Replica> ended);
  // Returns the problems by (namespace, name).
  std::vector<PodProblem> Problems() const;
  // Returns pods that only the gate of Yardmaster holds, that request no GPU and are in no gang,
  // such as a launcher.
  std::vector<PodPtr> Idle() const;
  // Returns pods with GPUs, on a node and in no gang, that are being deleted.
  std::vector<PodPtr> LeavingAlone() const;
  // Returns unfinished pods that are not being deleted and have no rank yet, by (namespace, name).
  std::vector<UnnumberedPod> Unnumbered() const;

 private:
  using Resolved = absl::StatusOr<std::optional<api::Membership>>;
  using Id = std::tuple<std::string, std::string, std::string>;  // namespace, name, owner's uid
  using Members = std::map<std::string, GangMember>;             // by name
  struct Kept {
    Members members;  // unfinished pods
    int finished = 0;
    std::map<Replica, int> succeeded;     // pods
    std::map<Replica, int> ended;         // pods that show it
    std::vector<Replica> ended_by_owner;  // in order
    // As returned last; null: pods have changed since.
    std::shared_ptr<const GatheredGang> gang;
    std::optional<std::vector<api::RankBase>> bases;  // from which its ranks come
    int workers = 0;
  };

  using KeptGangs = std::map<Id, Kept>;
  // Where an unfinished pod of a gang is kept.
  struct Place {
    KeptGangs::iterator gang;
    Members::iterator member;
  };
  using Places = std::unordered_map<const api::Pod*, Place>;

  bool IsForUs(const api::Pod& pod) const;
  // Replaces the state of a known pod. False: it may belong to another gang or rank now.
  bool Replace(Places::iterator at, const PodPtr& after);
  // `at`: where the pod is kept, or the end.
  void Remove(const api::Pod& pod, Places::iterator at);
  void RemoveFinished(const api::Pod& pod);
  // nullopt: the pod is in no gang, and `problem` says why.
  std::optional<api::Membership> MembershipOf(const api::Pod& pod, std::string& problem) const;
  std::optional<api::Membership> Checked(const api::Pod& pod, const Resolved& resolved,
                                         std::string& problem) const;
  // True if the pod has to be numbered first.
  bool AddUnnumbered(const PodPtr& pod);
  void Problem(const api::Pod& pod, std::string text);
  static GatheredGang Compose(const Id& id, const Kept& kept);
  static std::vector<Replica> EndedOf(const GatheredGang& gang, const Kept& kept);

  Orphans orphans_;
  Ungated ungated_;
  state::ObjectTable<api::Pod> pods_;
  KeptGangs gangs_;
  Places places_;
  std::map<NamespacedName, PodPtr> idle_;
  std::map<NamespacedName, PodPtr> leaving_alone_;
  std::map<NamespacedName, UnnumberedPod> unnumbered_;  // by pod
  std::map<NamespacedName, PodProblem> problems_;       // by pod
};

// True if none of these pods, all pods of a namespace as the API server has them, belongs to the
// gang and can run. The watch may still show a pod as gated that was released since, or not show it
// at all.
bool NoneOfItCanRun(const NamespacedName& gang, const std::vector<PodPtr>& pods);

}  // namespace yardmaster::gather
