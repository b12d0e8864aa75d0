// Decides from the spec and status of a gang's owner whether it will create the gang's pods again.
// Rules for all kinds: conditions of the end, and spec.suspend or spec.runPolicy.suspend. Jobs of
// parallelism 0, TrainingJobs that the operator holds, Volcano's jobs and LeaderWorkerSets have
// additional rules.
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
  kActive,     // its controller creates missing pods again
  kSuspended,  // it has no pods until it is resumed
  kFinished,   // it will have no more pods
  kGone,       // it does not exist, is being deleted, or is another object of that name
};

struct OwnerState {
  OwnerPhase phase = OwnerPhase::kActive;
  std::string why;  // "Job team/a is suspended"
};

// Returns the resource by which the owner is read; nullopt for an unknown kind.
std::optional<kube::Resource> ResourceOfOwner(const api::OwnerReference& owner);

// Returns the state of the owner. `object`: as read from the API server; absent: it does not exist.
OwnerState OwnerStateOf(const api::Gang& gang, JsonView object);

}  // namespace yardmaster::gather
