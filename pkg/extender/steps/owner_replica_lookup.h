// What the owner says of a gang without a place whose pods are not whole as they stand: its size,
// where it was scaled since the template was written, before the gang was placed or after it lost
// its place; the replicas that have ended for good, of which no pods come; and, where it makes its
// pods in stages (pkg/gather/owner_stages.h), the size of those that have begun.
//
// The owner is read only when the pods do not make a gang as they stand: at once when they
// contradict themselves, after three seconds without a change when some seem to be missing, then
// ever less often. Its size counts only when exactly as many pods are there, or have ended, as it
// wants in all. The Jobs of a JobSet are read, too: in a pass those of one JobSet, of at most 16
// subgroups that lack a pod.
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
  std::optional<int> size;                            // nullopt: it is not known
  std::optional<std::vector<gather::Replica>> ended;  // in order; nullopt: the owner did not say
  bool more_to_come = false;  // the size is that of the stages that have begun
  std::optional<int> wanted;  // pods in all, however many are there
  // Why the missing pods never come (pkg/gather/owner_stages.h); empty: as far as known they do.
  std::string why_not;
};

class OwnerReplicaLookup {
 public:
  using Next = std::function<Decision(const PassFacts&, const OwnerSays&)>;

  // What the owner said of the gang last; null: it was not asked.
  const OwnerSays* Find(const NamespacedName& key) const {
    const auto at = seen_.find(key);
    return at == seen_.end() ? nullptr : &at->second.says;
  }
  // At the start of the step, in every pass.
  void Begin(const PassFacts& facts);
  // Of a gang that could not be made from its pods, because they contradict themselves
  // (`contradict`) or some are missing. Goes on with what is known.
  Decision Ask(const PassFacts& facts, const NamespacedName& key, bool contradict, Next next);

 private:
  // Since when a set of pods has been as it is.
  struct Seen {
    std::shared_ptr<const gather::GatheredGang> pods;
    std::int64_t since_ms = 0;  // steady
    OwnerSays says;             // what the owner said of them
  };

  std::map<NamespacedName, Seen> seen_;
};

}  // namespace yardmaster::extender
