// Gathers pods into gangs, kept from one pass to the next: a pod that came, went or changed costs a
// look at itself and a copy of its gang's list of members. Its labels are read again only if they,
// its annotations or its owners have changed.
//
// Determinism: the answer depends on the pods given last, never on those before. Thread safety: one
// thread. What it hands out stays valid and unchanged.
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

// Whether pods without a controller may be in a gang of an owner: in manifests that people write
// they have none; in a cluster such a pod carries copied labels. Pods that say that they are a gang
// may always be one.
enum class Orphans { kAccept, kRefuse };
// Whether pods that say their parallelism are gathered where they did not come behind our gate,
// too. Where only some namespaces have the gate, the pods of the others are ordinary ones.
enum class Ungated { kGather, kLeave };

// A pod whose rank the extender has still to write onto it (steps/number_step.h).
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

  // The Gang that has these pods already; null: ranks are left open.
  using GangOf = std::function<const api::Gang*(const GatheredGang& pods)>;

  // From now on these are the pods.
  void Update(const state::ObjectTable<api::Pod>& pods);
  // Adds a pod that is not there yet, for callers that never call Update.
  void Add(const PodPtr& pod);
  // By (namespace, name, owner's uid).
  std::vector<std::shared_ptr<const GatheredGang>> Gangs(const GangOf& gang_of);
  // What the owner of these pods says of replicas that have ended; kept while the gang has pods.
  // True: it is news.
  bool NoteEnded(const GatheredGang& pods, std::vector<Replica> ended);
  // By (namespace, name).
  std::vector<PodProblem> Problems() const;
  // Pods behind our gate alone that ask for no GPU and are in no gang, such as a launcher.
  std::vector<PodPtr> Idle() const;
  // Pods with GPUs, on a node and in no gang, that are being deleted.
  std::vector<PodPtr> LeavingAlone() const;
  // Unfinished pods that are not being deleted and have no rank yet; by (namespace, name).
  std::vector<UnnumberedPod> Unnumbered() const;

 private:
  using Resolved = absl::StatusOr<std::optional<api::Membership>>;
  using Id = std::tuple<std::string, std::string, std::string>;  // namespace, name, owner's uid
  using Members = std::map<std::string, GangMember>;             // by name
  struct Kept {
    Members members;  // unfinished pods
    int finished = 0;
    std::map<Replica, int> succeeded;     // pods
    std::map<Replica, int> ended;         // pods that say so
    std::vector<Replica> ended_by_owner;  // in order
    // As it was handed out last; null: pods have changed since.
    std::shared_ptr<const GatheredGang> gang;
    std::optional<std::vector<api::RankBase>> bases;  // that its ranks are from
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
  // Another state of a pod that has a place. False: it may belong to another gang or rank.
  bool Replace(Places::iterator at, const PodPtr& after);
  // `at`: the pod's place, or none.
  void Remove(const api::Pod& pod, Places::iterator at);
  void RemoveFinished(const api::Pod& pod);
  // nullopt: it is in no gang, and `problem` says why.
  std::optional<api::Membership> MembershipOf(const api::Pod& pod, std::string& problem) const;
  std::optional<api::Membership> Checked(const api::Pod& pod, const Resolved& resolved,
                                         std::string& problem) const;
  // True: it is a pod that has to be numbered first.
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

// Of these pods, all of a namespace as the API server has them, none of that gang's can run: the
// watch may still show a pod as gated that was released since, or not show one at all.
bool NoneOfItCanRun(const NamespacedName& gang, const std::vector<PodPtr>& pods);

}  // namespace yardmaster::gather
