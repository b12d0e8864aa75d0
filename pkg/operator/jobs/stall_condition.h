// The condition Stalled of a TrainingJob: what it becomes, from what a look at the job has found
// and what the condition was.
//
// True: something keeps pods from being made, or the workers from making progress (stall_reason.h).
// False: nothing does any more. Unknown: the workers made no progress when they were last seen, and
// no report says that they do now. A job that was never stalled has no such condition.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>

#include "pkg/api/training_job.h"
#include "pkg/operator/jobs/job_observation.h"
#include "pkg/operator/jobs/job_step.h"
#include "pkg/operator/jobs/stall_reason.h"

namespace yardmaster::op {

struct StallChange {
  api::Condition condition;
  // An event reports it: the reason is not the one that the condition had, and is not found again
  // after reports had ceased.
  bool is_event = false;
};

// nullopt: the condition stays. `reason_of_none`: why the job is not stalled (ReasonOfNoStall),
// used where `stall` does not exist; empty: not known.
std::optional<StallChange> NextStalled(const api::TrainingJob& job, const StallReason& stall,
                                       const std::string& reason_of_none);

// Empty while pods of the job are yet to be made: the turn that makes them decides.
std::string ReasonOfNoStall(const api::TrainingJob& job, const JobObservation& observed,
                            const JobStep& step);

}  // namespace yardmaster::op
