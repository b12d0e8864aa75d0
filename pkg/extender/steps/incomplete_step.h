// The step of a pass that reports sets of pods that are not a complete gang
// (gather/incomplete_gang.h). It writes an event on the owner and on one pod, a problem of the pass
// and, if the Gang exists, the condition Planned.
//
// The step reports ten seconds after the last change of the pods, because controllers create pods
// one after another, and again when the text changes. If the owner shows that missing pods will
// never come (gather/owner_stages.h), the step reports at once.
//
// Thread safety: one thread. Lifetimes: the GangSpecStep outlives this step.
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

  // Runs after the Gangs of the pass are made and before the snapshot.
  std::vector<Work> Plan(const PassFacts& facts);

 private:
  struct Seen {
    std::shared_ptr<const gather::GatheredGang> pods;
    std::int64_t since_ms = 0;  // steady clock: when the pods changed last
    std::string text;           // reported last; empty: nothing was reported
  };

  Decision Decide(const PassFacts& facts, const NamespacedName& key);
  Decision Report(const PassFacts& facts, const NamespacedName& key,
                  const gather::IncompleteGang& found, bool never);

  const GangSpecStep& specs_;
  std::map<NamespacedName, Seen> seen_;
};

}  // namespace yardmaster::extender
