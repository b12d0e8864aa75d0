// The step of a pass that says which sets of pods are not a whole gang (gather/incomplete_gang.h),
// so that none waits in silence: an event on its owner and on a pod, a problem of the pass, and,
// where the gang has a Gang, the condition Planned.
//
// It is said ten seconds after the last change of the pods, because controllers make them one after
// another, and again when the text is another one. That pods which are missing never come, as far
// as the owner says it (gather/owner_stages.h), is said at once.
//
// Thread safety: one thread. Lifetimes: the step that reads the owners outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/extender/effects/effect.h"
#include "pkg/extender/steps/gang_spec_step.h"
#include "pkg/gather/incomplete_gang.h"

namespace yardmaster::extender {

class IncompleteStep {
 public:
  explicit IncompleteStep(const GangSpecStep& specs) : specs_(specs) {}

  // After the Gangs of the pass are made, before the snapshot.
  std::vector<Work> Plan(const PassFacts& facts);

 private:
  struct Seen {
    std::shared_ptr<const gather::GatheredGang> pods;
    std::int64_t since_ms = 0;  // steady
    std::string text;           // was said; empty: nothing
  };

  Decision Decide(const PassFacts& facts, const NamespacedName& key);
  Decision Report(const PassFacts& facts, const NamespacedName& key,
                  const gather::IncompleteGang& found, bool never);

  const GangSpecStep& specs_;
  std::map<NamespacedName, Seen> seen_;
};

}  // namespace yardmaster::extender
