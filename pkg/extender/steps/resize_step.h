// The steps of a pass that let a placed gang grow and shrink with its owner: an indexed Job that is
// scaled, an elastic PyTorchJob. The operator gives a TrainingJob another size only while it has no
// pods; if its pods nevertheless change with its size, its gang follows.
//
//   FollowOwners  the Gang's spec takes the size that its owner wants, once the pods are there (it
//                 grows) or gone (it shrinks). Its promise, status.assignments, stays as it is
//   Apply         hosts of ranks that are gone go back; new ranks get hosts, all or none, by one
//                 status write (plan_commit.h)
//
// No rank moves and no rank changes its number: where a resize would renumber ranks, or break a
// Required limit, the gang stays as it is and an event says why. Growing comes after the queue: a
// gang that waits for its first place goes first. While there is no room, condition Resized is False.
// A size that the owner does not say (kinds of a fixed size, unknown kinds) is never followed: pods
// beyond the size are strays (gather.h).
//
// Thread safety: one thread. Lifetimes: everything passed in outlives it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "pkg/extender/gather/owner_size.h"
#include "pkg/extender/ledger/ask_times.h"
#include "pkg/extender/steps/pass_step.h"
#include "pkg/placement/gang_planner.h"

namespace yardmaster::extender {

class ResizeStep : PassStep {
 public:
  ResizeStep(const StepTools& tools, placement::PlannerOptions options)
      : PassStep(tools), options_(options), ask_times_(tools.clock) {}

  // Before the snapshot.
  void FollowOwners(PassState& pass);
  // After the queue.
  void Apply(PassState& pass);

 private:
  void FollowOne(PassState& pass, const NamespacedName& key);
  // nullopt when the size is as the Gang says, or not known.
  std::optional<GangSize> WantedSize(PassState& pass, const NamespacedName& key);
  std::optional<GangSize> SizeOfOwner(PassState& pass, const NamespacedName& key);
  void WriteSize(PassState& pass, const NamespacedName& key, const GangSize& size);
  void ApplyOne(PassState& pass, plan::JobId job);
  void Grow(PassState& pass, plan::JobId job);
  void TellNoRoom(PassState& pass, plan::JobId job, const std::string& why);
  // Once for every wording.
  void TellRefusal(PassState& pass, const NamespacedName& key, const std::string& why);

  const placement::PlannerOptions options_;
  AskTimes ask_times_;
  std::map<NamespacedName, std::optional<GangSize>>
      answers_;  // of owners, when they were asked last
  std::map<NamespacedName, std::string> refused_;
};

}  // namespace yardmaster::extender
