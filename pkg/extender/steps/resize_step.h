// The steps of a pass by which a placed gang grows and shrinks with its owner, such as an indexed
// Job that is scaled or an elastic PyTorchJob. The operator resizes a TrainingJob only while it has
// no pods; if its pods nevertheless change with its size, its gang follows, too.
//
//   FollowOwners   writes the size that the owner wants into the Gang's spec, once the pods exist
//                  (it grows) or are gone (it shrinks). status.assignments does not change
//   MovePromises   gives back the hosts of removed ranks; gives hosts to new ranks, all or none, by
//                  one status write
//
// No rank moves and no rank changes its number. If a resize would renumber ranks or break a
// Required limit, the gang keeps its size and an event says why. Growing comes after the queue: a
// gang that waits for its first place goes first. While new ranks find no hosts, the condition
// Resized is False. If the owner does not state a size (kinds of a fixed size, unknown kinds), the
// gang keeps its size, and pods beyond it are strays (gather/gather.h).
//
// Thread safety: one thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "pkg/extender/effects/effect.h"
#include "pkg/gather/owner_size.h"
#include "pkg/placement/gang_planner.h"

namespace yardmaster::extender {

class ResizeStep {
 public:
  explicit ResizeStep(placement::PlannerOptions options) : options_(options) {}

  // Runs before the snapshot.
  std::vector<Work> FollowOwners(const PassFacts& facts);
  // Runs after the queue.
  std::vector<Work> MovePromises(const PassFacts& facts) const;

 private:
  // nullopt: not known.
  using Size = std::optional<gather::GangSize>;

  Decision AskSize(const PassFacts& facts, const NamespacedName& key);
  Decision FollowOne(const PassFacts& facts, const NamespacedName& key, const Size& size);
  Decision WriteSize(const PassFacts& facts, const NamespacedName& key,
                     const gather::GangSize& size);
  // Reports each text once for a gang.
  Decision ReportRefusal(const api::Gang& gang, const std::string& why);
  Decision Grow(const PassFacts& facts, plan::JobId job) const;

  const placement::PlannerOptions options_;
  std::map<NamespacedName, Size> answers_;  // the last answers of owners
  std::map<NamespacedName, std::string> refused_;
};

}  // namespace yardmaster::extender
