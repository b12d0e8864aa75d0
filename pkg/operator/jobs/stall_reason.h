// Why the pods of a TrainingJob cannot be created, or its workers make no progress: reason and
// message of its condition Stalled.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

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
// The API server or a policy refuses the job's Service.
inline constexpr char kServiceRefused[] = "ServiceRefused";
// The job is held before its first pod (job_hold.h): its queue is one of Kueue, which the operator
// does not follow; or its pods name a queue.
inline constexpr char kQueueUnavailable[] = "QueueUnavailable";
inline constexpr char kQueueNotSupported[] = "QueueNotSupported";
// The job cannot have its ComputeDomain: the kind does not exist, or an object of that name is not
// the job's.
inline constexpr char kComputeDomainUnavailable[] = "ComputeDomainUnavailable";

// All workers run and make no progress (no_progress.h). kCannotRun: because a process of a worker
// is stopped.
inline constexpr char kNoProgress[] = "NoProgress";
inline constexpr char kCannotRun[] = "WorkerCannotRun";

// The condition is Unknown: its reason was one of these two, and nothing shows whether the job
// makes progress again.
inline constexpr char kProgressNotKnown[] = "NotKnown";

// True if the job's condition Stalled is True for one of `reasons`.
inline bool IsStalledBy(const api::TrainingJob& job,
                        std::initializer_list<std::string_view> reasons) {
  const api::Condition* stalled = api::FindCondition(job.status.conditions, "Stalled");
  if (stalled == nullptr || stalled->status != api::ConditionStatus::kTrue) return false;
  for (const std::string_view reason : reasons) {
    if (stalled->reason == reason) return true;
  }
  return false;
}
// These say whether the Service or pods were refused at the last attempt, by the condition Stalled.
inline bool ServiceWasRefused(const api::TrainingJob& job) {
  return IsStalledBy(job, {kServiceRefused});
}
inline bool PodsWereRefused(const api::TrainingJob& job) {
  return IsStalledBy(job, {kQuotaExceeded, kPodsRefused});
}
// Returns when the job was found to make no progress, or when its progress became unknown; nullopt
// if neither is the case.
inline std::optional<std::int64_t> NoProgressMs(const api::TrainingJob& job) {
  const api::Condition* stalled = api::FindCondition(job.status.conditions, "Stalled");
  if (stalled == nullptr || stalled->status == api::ConditionStatus::kFalse) return std::nullopt;
  const std::string& reason = stalled->reason;
  const bool found = reason == kNoProgress || reason == kCannotRun || reason == kProgressNotKnown;
  return found ? std::optional(stalled->transition_ms) : std::nullopt;
}
inline bool WasRefused(const api::TrainingJob& job) {
  return PodsWereRefused(job) || ServiceWasRefused(job);
}

}  // namespace yardmaster::op
