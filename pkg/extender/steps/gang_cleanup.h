// The step of a pass that deletes the Gangs that the garbage collector of Kubernetes does not
// delete: Gangs without an owner reference, and Gangs whose owner is of a kind that the extender
// does not know.
//
// The step deletes such a Gang once it has had neither hosts nor pods for a minute. If the kind of
// the owner is known, the owner must be gone, too. Pods that come later get a new Gang. A new
// leader starts the minute again.
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
  // Runs before the step that makes Gangs.
  std::vector<Work> Plan(const PassFacts& facts);

 private:
  std::map<NamespacedName, std::int64_t> empty_since_ms_;  // steady clock
};

}  // namespace yardmaster::extender
