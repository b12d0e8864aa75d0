// Reads from the owner of an unplaced gang what its incomplete pods do not say:
//   - the gang's size, if the owner was scaled since its pod template was written;
//   - the replicas that have ended for good, for which no pod will come;
//   - for owners that create their pods in stages (gather/owner_stages.h), the size of the stages
//     that have begun.
//
// The owner is read only if its pods alone do not make a gang: at once if they contradict each
// other, three seconds after their last change if some are missing, and then at growing intervals.
// The size of the owner is used only if exactly that many pods exist or have ended. For a JobSet,
// its Jobs are read, too: of one JobSet in a pass, and of at most 16 subgroups that lack a pod.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

struct OwnerSays {
  std::optional<int> size;                            // nullopt: not known
  std::optional<std::vector<gather::Replica>> ended;  // ascending; nullopt: the owner did not say
  bool more_to_come = false;  // `size` is that of the stages that have begun
  std::optional<int> wanted;  // pods that the owner wants in all
  // Why the missing pods will never come (gather/owner_stages.h); empty: they may still come.
  std::string why_not;
};

class OwnerReplicaLookup {
 public:
  using Next = std::function<Decision(const PassFacts&, const OwnerSays&)>;

  // Returns what the owner of the gang said last. Null if it has not been read.
  const OwnerSays* Find(const NamespacedName& key) const {
    const auto at = seen_.find(key);
    return at == seen_.end() ? nullptr : &at->second.says;
  }
  // Call at the start of the step, in every pass.
  void Begin(const PassFacts& facts);
  // Reads the owner of a gang that could not be made from its pods, because they contradict each
  // other (`contradict`) or some are missing. Then calls `next` with what is known.
  Decision Ask(const PassFacts& facts, const NamespacedName& key, bool contradict, Next next);

 private:
  // A set of pods, and since when it has not changed.
  struct Seen {
    std::shared_ptr<const gather::GatheredGang> pods;
    std::int64_t since_ms = 0;  // steady clock
    OwnerSays says;             // what the owner said about them last
  };

  std::map<NamespacedName, Seen> seen_;
};

}  // namespace yardmaster::extender
