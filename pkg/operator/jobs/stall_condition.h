// Computes the condition Stalled of a TrainingJob from the result of a reconcile and its former
// value.
//
//   True      pods cannot be created, or the workers make no progress (stall_reason.h)
//   False     the cause is gone
//   Unknown   the workers made no progress when they were last seen, and no report says that they
//   do
//             now
//
// A job that was never stalled does not have the condition.
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
  // An event reports the change: the reason is new, and is not found again after reports had
  // ceased.
  bool is_event = false;
};

// Returns the new condition; nullopt: it does not change. `reason_of_none`: why the job is not
// stalled (ReasonOfNoStall), used if `stall` does not exist; empty: not known.
std::optional<StallChange> NextStalled(const api::TrainingJob& job, const StallReason& stall,
                                       const std::string& reason_of_none);

// Returns why the job is not stalled. Empty while pods of the job are still to be created: the turn
// that creates them decides.
std::string ReasonOfNoStall(const api::TrainingJob& job, const JobObservation& observed,
                            const JobStep& step);

}  // namespace yardmaster::op
