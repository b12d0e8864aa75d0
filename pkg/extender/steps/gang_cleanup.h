// The step of a pass that deletes Gangs which nothing else deletes. The garbage collector of
// Kubernetes takes a Gang with its owner, but not a Gang without an owner reference, nor one whose
// owner is of a kind that makes no gangs. Such a Gang is deleted after a minute without hosts and
// without pods, in the first case only once its owner is gone. Pods that come later get a Gang of
// their own.
//
// The minute is counted again by a new leader: an empty Gang holds nothing.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

class GangCleanup {
 public:
  // Before Gangs are made.
  std::vector<Work> Plan(const PassFacts& facts);

 private:
  std::map<NamespacedName, std::int64_t> empty_since_ms_;  // steady
};

}  // namespace yardmaster::extender
