// Reads the size of a gang from the core PodGroups (scheduling.k8s.io) that its pods name: the sum
// of their minCount. If the groups belong to a CompositePodGroup, the size counts only if pods of
// as many groups exist as its minGroupCount requires.
//
// API versions differ between clusters: a lookup tries each version, the one that answered last
// first. If a group cannot be read, does not exist or is no gang, the result names the group and
// the cause, such as an API that is not served or a missing permission.
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
  std::string why_not;      // why it is not known, or why an earlier answer could not be refreshed
};

class PodGroupLookup {
 public:
  using Next = std::function<Decision(const PassFacts&, const GroupSays&)>;

  // Returns the last answer for the gang. Null if its pods name no group, or if none was read yet.
  const GroupSays* Find(const NamespacedName& key) const {
    const auto at = said_.find(key);
    return at == said_.end() ? nullptr : &at->second;
  }
  // Call at the start of the step, in every pass.
  void Begin(const PassFacts& facts);
  // Calls `next`: at once if the pods name no group, with the last answer if it is not the gang's
  // turn, else after the groups were read.
  Decision Ask(const PassFacts& facts, const NamespacedName& key, const Next& next);

 private:
  // The state of one lookup.
  struct Reading {
    NamespacedName key;
    std::vector<std::string> names;  // of the groups
    std::size_t tried = 0;           // number of API versions
    bool is_served = false;          // the API server serves a version that was tried
    Next next;
  };

  Decision ReadGroups(const std::shared_ptr<Reading>& reading);
  Decision TakeGroups(const PassFacts& facts, const std::shared_ptr<Reading>& reading,
                      const EffectOutcomes& groups);
  Decision ReadParent(const std::shared_ptr<Reading>& reading, const std::string& parent, int size);
  static std::string WhyNot(const Reading& reading, std::size_t group, const EffectOutcome& read);
  Decision Say(const PassFacts& facts, const Reading& reading, const GroupSays& says);

  std::size_t version_ = 0;  // index of the version that answered last
  std::map<NamespacedName, GroupSays> said_;
};

}  // namespace yardmaster::extender
