// The step of a pass that reads the PersistentVolumeClaims of waiting pods and their volumes, so
// that the planner does not place a gang on hosts that a bound volume cannot reach
// (facts/volume_reach.h).
//
//   - The step reads only claims of gated pods whose Gang exists, and forgets a claim once no such
//     pod names it.
//   - An unbound claim is read when the pods of its gang change, and then at intervals that double
//     from 250 ms to 30 s.
//   - A bound claim is read every five minutes, because a claim can be deleted and created again.
//   - A pass reads at most 64 claims and stops after one second. Namespaces take turns; within a
//     namespace the gang that was served longest ago comes first. Claims that were never read come
//     before the others.
//   - A gang without a place waits at most five passes for its first answers. Then it is planned
//     with what is known, and kube-scheduler decides about the rest.
//   - A claim that has never been read successfully limits nothing.
//   - If a gang has so many different limits that the planner ignores them (MayLimit), the step
//     reads no more of its claims.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/extender/effects/effect.h"
#include "pkg/extender/facts/volume_reach.h"

namespace yardmaster::extender {

class VolumeStep {
 public:
  // Runs before the snapshot of the pass.
  std::vector<Work> Plan(const PassFacts& facts);

 private:
  using Claims = std::vector<NamespacedName>;

  // The last answer for a claim, and when to read it again.
  struct Answer {
    std::string uid;
    std::string volume;        // empty: the claim is not bound
    std::int64_t next_ms = 0;  // steady clock
    std::int64_t wait_ms = 0;
  };
  // A gang with gated pods that have claims.
  struct Waiting {
    std::shared_ptr<const gather::GatheredGang> pods;
    std::uint64_t served = 0;  // number of its last turn
    int left_out = 0;          // passes for which it was excluded from planning
  };
  // The claims of a gang that are due: first those never read, then the others, the longest due
  // first.
  struct DueClaims {
    NamespacedName gang;
    Claims claims = {};
    std::size_t unknown = 0;  // claims that were never read
    std::size_t share = 0;    // claims that this pass reads
    std::size_t turn = 0;     // position among the gangs of its namespace
  };

  // Returns the gangs with claims that are due, and forgets claims that no gang waits for. Sets
  // `wake_ms` to the time until the next claim is due.
  std::vector<DueClaims> FindDueClaims(const PassFacts& facts, std::int64_t& wake_ms);
  // Divides the reads of the pass among the gangs.
  void Share(std::vector<DueClaims>& all_due) const;
  Decision Read(const PassFacts& facts, const DueClaims& due);
  Decision ReadVolumes(const PassFacts& facts, const Claims& claims, const EffectOutcomes& read);
  // Stores which nodes the volumes reach.
  Decision StoreReach(const PassFacts& facts, const Claims& claims, const EffectOutcomes& read);

  std::int64_t began_ms_ = 0;  // steady clock: when this pass began
  std::uint64_t turns_ = 0;
  std::map<NamespacedName, Answer> answers_;  // by claim
  std::map<NamespacedName, Waiting> waiting_;
  std::map<std::string, std::uint64_t> served_;  // by namespace
  // Has the same claims as answers_. Shared with the facts; replaced, never modified.
  std::shared_ptr<const VolumesByClaim> known_ = std::make_shared<const VolumesByClaim>();
};

}  // namespace yardmaster::extender
