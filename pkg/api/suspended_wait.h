// Jobs of other controllers that wait for their place without pods: the label yardmaster.dev/wait
// with the value Suspended on a job with spec.suspend. The operator asks for a place for it and
// resumes it when its Gang has one (pkg/operator/waiting).
//
// Thread safety: constants and pure functions.
#pragma once

#include "pkg/api/metadata.h"
#include "pkg/json/json_view.h"

namespace yardmaster::api {

// Written by people. A label, so that a watch brings these jobs and no others.
inline constexpr char kWaitLabel[] = "yardmaster.dev/wait";
inline constexpr char kWaitSuspended[] = "Suspended";
// On such a job, by the operator, with the patch that resumes it: the uid of its Gang.
inline constexpr char kResumedAnnotation[] = "yardmaster.dev/resumed";

// Whether jobs of that kind make no pod while spec.suspend is true, and may wait so: Job of
// batch/v1, and JobSet.
bool MayWaitSuspended(const OwnerReference& owner);
// Of such a job, as the API server has it: it waits.
bool WaitsSuspended(JsonView job);

}  // namespace yardmaster::api
