// Handles owners that create some of their pods only when others run. A gang that waited for all of
// them would wait for ever, because the first do not start. So it starts with the stages that have
// begun, and grows when the pods of the other stages come (extender/steps/resize_step.h).
//
//   JobSet            dependsOn, startupPolicy InOrder
//   LeaderWorkerSet   startupPolicy LeaderReady, exclusive topology: the leader comes first
//   Volcano Job       tasks with dependsOn
//
// No host is kept for a pod that does not exist: a tenant could write an owner that never creates
// it, and hold hosts beyond its quota. A stage is placed all or none. Ranks keep their numbers, so
// a later stage must follow the others in rank.
//
// Thread safety: pure functions. Complexity: O(pods * log(replicated jobs)).
#pragma once

#include <string>

#include "pkg/api/metadata.h"
#include "pkg/gather/gather.h"
#include "pkg/json/json_view.h"

namespace yardmaster::gather {

struct Stages {
  // Every stage that has begun is complete, and others are still to come.
  bool whole = false;
  // Why the missing pods will not come although the gang cannot start without them; a text for the
  // owner.
  std::string why_not;
};

// `object`: the owner, as read from the API server. `pods`: a set that is not complete.
Stages StagesOf(const api::OwnerReference& owner, JsonView object, const GatheredGang& pods);

}  // namespace yardmaster::gather
