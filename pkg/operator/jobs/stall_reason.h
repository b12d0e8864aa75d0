// What keeps the pods of a TrainingJob from being made: the reason and the message of its condition
// Stalled. Thread safety: values and pure functions.
#pragma once

#include <string>

#include "pkg/api/training_job.h"

namespace yardmaster::op {

struct StallReason {
  std::string reason;  // empty: none
  std::string message;

  bool exists() const { return !reason.empty(); }
};

// An object with a name that the job needs belongs to another owner.
inline constexpr char kNameTaken[] = "NameTaken";
// A quota, or the API server or a policy, refuses the pods.
inline constexpr char kQuotaExceeded[] = "QuotaExceeded";
inline constexpr char kPodsRefused[] = "PodsRefused";
// The job is held before its first pod (job_hold.h).
inline constexpr char kQueueNotSupported[] = "QueueNotSupported";
inline constexpr char kClaimsNotSupported[] = "ClaimsNotSupported";

// The job's condition Stalled says that its pods were refused at the last try.
inline bool WasRefused(const api::TrainingJob& job) {
  const api::Condition* stalled = api::FindCondition(job.status.conditions, "Stalled");
  return stalled != nullptr && stalled->status == api::ConditionStatus::kTrue &&
         (stalled->reason == kQuotaExceeded || stalled->reason == kPodsRefused);
}

}  // namespace yardmaster::op
