// The step of a pass that creates a Gang for every complete set of pods, and updates the spec of a
// Gang without hosts when its pods change.
//
// Order of the writes: Gangs whose last write did not fail come first; then by priority, highest
// first; then by how long the write has been due, longest first. Gangs whose write failed come
// last, so that they cannot use up the time of every pass. If a pass has no time for a Gang, the
// next pass writes it, and this pass places no gang of lower priority.
//
// Thread safety: one thread. Lifetimes: the gatherer outlives the step.
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
  // The step reports to `gatherer` which replicas have ended, as their owner says.
  explicit GangSpecStep(gather::Gatherer& gatherer) : gatherer_(gatherer) {}

  // Runs before the snapshot.
  std::vector<Work> Plan(const PassFacts& facts);
  // Returns what the core PodGroups that the pods name say about the gang's size. Null if the pods
  // name none, or if none has been read yet.
  const GroupSays* GroupSaysOf(const NamespacedName& gang) const { return groups_.Find(gang); }
  // Returns what the owner of an incomplete gang said last. Null if the owner has not been read.
  const OwnerSays* OwnerSaysOf(const NamespacedName& gang) const { return owners_.Find(gang); }

 private:
  using JobPtr = std::shared_ptr<const api::TrainingJob>;
  using TrainingJobs = std::map<NamespacedName, JobPtr>;  // by the name of the Gang
  // The state of the last comparison of a Gang without hosts with its pods.
  struct Compared {
    std::shared_ptr<const gather::GatheredGang> pods;  // null: the comparison is due
    JobPtr job;                                        // the TrainingJob of that name, or null
    bool agrees = false;                               // the Gang's spec matches its pods
    // Steady clock: when the comparison became due, or its write was tried last.
    std::int64_t since_ms = 0;
    bool failed = false;  // the last write failed
  };
  // A gang whose spec is compared with its pods. `job` is the TrainingJob that owns it, or null.
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
  // Excludes the gang from planning in this pass, because its spec may not match its pods.
  Decision LeaveOut(const NamespacedName& key, std::vector<Effect> effects = {}) const;

  gather::Gatherer& gatherer_;
  OwnerReplicaLookup owners_;
  std::map<NamespacedName, Compared> compared_;
  PodGroupLookup groups_;
};

}  // namespace yardmaster::extender
