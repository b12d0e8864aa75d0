// The steps of a pass that let a placed gang grow and shrink with its owner: an indexed Job that is
// scaled, an elastic PyTorchJob. The operator gives a TrainingJob another size only while it has no
// pods; if its pods nevertheless change with its size, its gang follows.
//
//   FollowOwners  the Gang's spec takes the size that its owner wants, once the pods are there (it
//                 grows) or gone (it shrinks). Its promise, status.assignments, stays as it is
//   MovePromises  hosts of ranks that are gone go back; new ranks get hosts, all or none, by one
//                 status write
//
// No rank moves and no rank changes its number: where a resize would renumber ranks, or break a
// Required limit, the gang stays as it is and an event says why. Growing comes after the queue: a
// gang that waits for its first place goes first. While there is no room, condition Resized is
// False. A size that the owner does not say (kinds of a fixed size, unknown kinds) is never
// followed: pods beyond the size are strays (gather/gather.h).
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

  // Before the snapshot.
  std::vector<Work> FollowOwners(const PassFacts& facts);
  // After the queue.
  std::vector<Work> MovePromises(const PassFacts& facts) const;

 private:
  // nullopt when the size is not known.
  using Size = std::optional<gather::GangSize>;

  Decision AskSize(const PassFacts& facts, const NamespacedName& key);
  Decision FollowOne(const PassFacts& facts, const NamespacedName& key, const Size& size);
  Decision WriteSize(const PassFacts& facts, const NamespacedName& key,
                     const gather::GangSize& size);
  // Once for every wording.
  Decision ReportRefusal(const api::Gang& gang, const std::string& why);
  Decision Grow(const PassFacts& facts, plan::JobId job) const;

  const placement::PlannerOptions options_;
  std::map<NamespacedName, Size> answers_;  // of owners, when they were asked last
  std::map<NamespacedName, std::string> refused_;
};

}  // namespace yardmaster::extender
