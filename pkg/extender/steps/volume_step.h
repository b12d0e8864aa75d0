// The step of a pass that reads the volumes of pods that wait for a place, so that a gang is not
// placed where a bound volume does not reach (facts/volume_reach.h). Only claims of pods behind our
// gate are read, and their volumes: a claim that is not bound when the gang's pods have come or
// changed and then ever less often, a bound one every few minutes, because a claim can be made
// again. Known are the claims of gangs that wait, and no others.
//
// What a pass reads is bounded in number and time. Namespaces take turns, each with the gang that
// was served longest ago, and claims that are not known go before those that were read. A gang
// waits for the first answers for a few passes; then it is planned on what is known, and
// kube-scheduler has the last word on the rest. A claim that cannot be read limits nothing. Of a
// gang with so many limits that they are not used (MayLimit) nothing more is read.
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
  // Before the snapshot of the pass.
  std::vector<Work> Plan(const PassFacts& facts);

 private:
  using Claims = std::vector<NamespacedName>;

  // A claim as it was read last.
  struct Answer {
    std::string uid;
    std::string volume;        // empty: it is not bound
    std::int64_t next_ms = 0;  // steady
    std::int64_t wait_ms = 0;
  };
  // A gang whose pods wait and have claims.
  struct Waiting {
    std::shared_ptr<const gather::GatheredGang> pods;
    std::uint64_t served = 0;  // the number of its last turn
    int left_out = 0;          // passes
  };
  // What a gang asks for: first the claims that are not known, then those read longest ago.
  struct Wish {
    NamespacedName gang;
    Claims claims = {};
    std::size_t unknown = 0;
    std::size_t share = 0;  // of the claims, in this pass
    std::size_t turn = 0;   // among those of its namespace
  };

  // Forgets what no gang waits for.
  std::vector<Wish> Wishes(const PassFacts& facts, std::int64_t& wake_ms);
  void Share(std::vector<Wish>& wishes) const;
  Decision Read(const PassFacts& facts, const Wish& wish);
  Decision ReadVolumes(const PassFacts& facts, const Claims& claims, const EffectOutcomes& read);
  Decision Learn(const PassFacts& facts, const Claims& claims, const EffectOutcomes& read);

  std::int64_t began_ms_ = 0;  // steady
  std::uint64_t turns_ = 0;
  std::map<NamespacedName, Answer> answers_;  // by claim
  std::map<NamespacedName, Waiting> waiting_;
  std::map<std::string, std::uint64_t> served_;  // by namespace
  // Of the same claims as answers_. Shared with the facts; replaced, never changed.
  std::shared_ptr<const VolumesByClaim> known_ = std::make_shared<const VolumesByClaim>();
};

}  // namespace yardmaster::extender
