// Whether the owner of a gang will make its pods again, from the owner's spec and status. The rules
// for all kinds: conditions of the end, and spec.suspend or spec.runPolicy.suspend. Besides, Jobs
// of parallelism 0, TrainingJobs that their operator holds, Volcano's jobs and LeaderWorkerSets
// have rules of their own.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>

#include "pkg/api/gang.h"
#include "pkg/json/json_view.h"
#include "pkg/kube/resource.h"

namespace yardmaster::gather {

enum class OwnerPhase {
  kActive,     // its controller makes missing pods again
  kSuspended,  // it has no pods until it is resumed
  kFinished,   // it has no pods any more
  kGone,       // it is not there, is being deleted, or is another object of that name
};

struct OwnerState {
  OwnerPhase phase = OwnerPhase::kActive;
  std::string why;  // "Job team/a is suspended"
};

// Where the owner is read; nullopt for a kind whose objects are not known here.
std::optional<kube::Resource> ResourceOfOwner(const api::OwnerReference& owner);

// `object`: the owner, as read from the API server; absent: it does not exist.
OwnerState OwnerStateOf(const api::Gang& gang, JsonView object);

}  // namespace yardmaster::gather
