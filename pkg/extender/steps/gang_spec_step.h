// The step of a pass that makes a Gang for every complete set of pods, and lets a Gang without
// hosts follow its pods when they change. A Gang without hosts holds nothing.
//
// Gangs are written in this order: by priority, then those that have waited for longest since they
// were due or tried. Those whose write failed come last, so that writes which take all the time of
// a pass to fail leave no other behind for ever. What the pass has no time for is for the next one,
// and no gang of lower priority is placed before it.
//
// Thread safety: one thread. Lifetimes: the gatherer outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/extender/effects/effect.h"
#include "pkg/extender/steps/owner_replica_lookup.h"
#include "pkg/extender/steps/pod_group_lookup.h"
#include "pkg/gather/gatherer.h"

namespace yardmaster::extender {

class GangSpecStep {
 public:
  // `gatherer` is told which replicas have ended, as their owners say.
  explicit GangSpecStep(gather::Gatherer& gatherer) : gatherer_(gatherer) {}

  // Before the snapshot.
  std::vector<Work> Plan(const PassFacts& facts);
  // What the core PodGroups say that the pods name; null: they name none, or were not asked.
  const GroupSays* GroupSaysOf(const NamespacedName& gang) const { return groups_.Find(gang); }
  // What the owner of pods that are not whole said of them last; null: it was not asked.
  const OwnerSays* OwnerSaysOf(const NamespacedName& gang) const { return owners_.Find(gang); }

 private:
  using JobPtr = std::shared_ptr<const api::TrainingJob>;
  using TrainingJobs = std::map<NamespacedName, JobPtr>;  // by the name of the Gang
  // What the Gangs without hosts were last compared with.
  struct Compared {
    std::shared_ptr<const gather::GatheredGang> pods;  // null: to be compared again
    JobPtr job;                                        // the TrainingJob of that name, or null
    bool agrees = false;                               // the Gang says what its pods say
    std::int64_t since_ms = 0;  // when that became due, or its write was tried last; steady
    bool failed = false;        // its write
  };
  // A gang whose Gang is compared with its pods. `job`: the TrainingJob that owns it, or null.
  struct Subject {
    NamespacedName key;
    JobPtr job;
  };

  std::vector<NamespacedName> GangsToCompare(const PassFacts& facts, const TrainingJobs& jobs,
                                             std::vector<Work>& works);
  // Reads the PodGroups that the pods name, then makes the Gang.
  Decision Decide(const PassFacts& facts, const Subject& subject);
  Decision Make(const PassFacts& facts, const Subject& subject, const GroupSays& says);
  Decision MakeAsOwnerSays(const PassFacts& facts, const Subject& subject,
                           gather::DeclaredSizes declared, const OwnerSays& says);
  Decision Write(const PassFacts& facts, const Subject& subject,
                 absl::StatusOr<std::optional<api::Gang>> made);
  // A Gang that is not known to say what its pods say is not planned.
  Decision LeaveOut(const NamespacedName& key, std::vector<Effect> effects = {}) const;

  gather::Gatherer& gatherer_;
  OwnerReplicaLookup owners_;
  std::map<NamespacedName, Compared> compared_;
  PodGroupLookup groups_;
};

}  // namespace yardmaster::extender
