// What the core PodGroups (scheduling.k8s.io) that the pods of a gang name say of its size: the sum
// of their minCount. Groups of a CompositePodGroup count only when as many of them have pods as it
// asks for.
//
// The API has versions that come and go: each read tries them from the newest, and what answered
// last goes first from then on. A group that cannot be read, is not there or asks for no gang is
// named with the cause, such as an API that is not served or a right that is missing.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

struct GroupSays {
  std::optional<int> size;  // nullopt: not known
  std::string why_not;      // why it is not, or why a former answer could not be renewed
};

class PodGroupLookup {
 public:
  using Next = std::function<Decision(const PassFacts&, const GroupSays&)>;

  // What was said of the gang last; null: its pods name no group, or it was not asked yet.
  const GroupSays* Find(const NamespacedName& key) const {
    const auto at = said_.find(key);
    return at == said_.end() ? nullptr : &at->second;
  }
  // At the start of the step, in every pass.
  void Begin(const PassFacts& facts);
  // Goes on with what is known when it is not the gang's turn, at once when its pods name no group.
  Decision Ask(const PassFacts& facts, const NamespacedName& key, const Next& next);

 private:
  // Where the groups of one gang are being read.
  struct Reading {
    NamespacedName key;
    std::vector<std::string> names;  // of its groups
    std::size_t tried = 0;           // versions
    bool is_served = false;          // some version that was tried
    Next next;
  };

  Decision ReadGroups(const std::shared_ptr<Reading>& reading);
  Decision TakeGroups(const PassFacts& facts, const std::shared_ptr<Reading>& reading,
                      const EffectOutcomes& groups);
  Decision ReadParent(const std::shared_ptr<Reading>& reading, const std::string& parent, int size);
  static std::string WhyNot(const Reading& reading, std::size_t group, const EffectOutcome& read);
  Decision Say(const PassFacts& facts, const Reading& reading, const GroupSays& says);

  std::size_t version_ = 0;  // that answered last
  std::map<NamespacedName, GroupSays> said_;
};

}  // namespace yardmaster::extender
