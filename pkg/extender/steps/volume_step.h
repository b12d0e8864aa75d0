// The step of a pass that reads the volumes of pods that wait for a place, so that a gang is not
// placed where a bound volume does not reach (facts/volume_reach.h). Only claims of pods behind our
// gate are read, and their volumes, when the pods have come or changed and then ever less often;
// what a claim is bound to never changes and is read once. A gang waits for the first answer; a
// claim that cannot be read limits nothing. Known are the claims of gangs that wait, and no others.
//
// Thread safety: one thread.
#pragma once

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

  Decision Read(const PassFacts& facts, const NamespacedName& gang, const Claims& unknown,
                const Claims& unbound);
  // `volumes`: by claim; empty: it is not bound.
  Decision ReadVolumes(const Claims& claims, const std::vector<std::string>& volumes);
  Decision Learn(const Claims& claims, const EffectOutcomes& read);

  std::size_t left_ = 0;  // claims that may still be read in this pass
  // Shared with the facts; replaced, never changed.
  std::shared_ptr<const VolumesByClaim> known_ = std::make_shared<const VolumesByClaim>();
};

}  // namespace yardmaster::extender
