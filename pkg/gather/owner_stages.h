// Owners that make some of their pods only when others of them run. A gang that waits for all of
// them waits for ever, because the first do not start. So it starts with the stages that have
// begun, and grows when the pods of the others come (extender/steps/resize_step.h).
//
// No host is kept for a pod that is yet to be made: a tenant could write an owner that never makes
// it, and hold hosts beyond its quota. A stage is placed all or none.
//
//   JobSet            dependsOn, startupPolicy InOrder
//   LeaderWorkerSet   startupPolicy LeaderReady, exclusive topology: the leader comes first
//   Volcano Job       tasks with dependsOn
//
// Ranks keep their numbers, so a stage that is yet to come must follow the others in rank.
//
// Thread safety: pure functions. Complexity: O(pods times the log of the replicated jobs).
#pragma once

#include <string>

#include "pkg/api/metadata.h"
#include "pkg/gather/gather.h"
#include "pkg/json/json_view.h"

namespace yardmaster::gather {

struct Stages {
  // Every stage that has begun is there in full, and others are to come.
  bool whole = false;
  // Why the pods that are missing do not come, where the gang cannot start without them: for the
  // owner.
  std::string why_not;
};

// `object`: the owner, as read from the API server. `pods`: a set that is not complete.
Stages StagesOf(const api::OwnerReference& owner, JsonView object, const GatheredGang& pods);

}  // namespace yardmaster::gather
