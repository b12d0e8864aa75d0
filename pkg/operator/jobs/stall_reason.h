// What keeps the pods of a TrainingJob from being made, or its workers from making progress: the
// reason and the message of its condition Stalled. Thread safety: values and pure functions.
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
// They refuse the job's Service.
inline constexpr char kServiceRefused[] = "ServiceRefused";
// The job is held before its first pod (job_hold.h): its queue is one of Kueue, which is not
// followed; or its pods name a queue of their own.
inline constexpr char kQueueUnavailable[] = "QueueUnavailable";
inline constexpr char kQueueNotSupported[] = "QueueNotSupported";
// The job has no ComputeDomain: there is no such kind, or one of its name is not the job's own.
inline constexpr char kComputeDomainUnavailable[] = "ComputeDomainUnavailable";

// All workers run and make no progress (no_progress.h); with the second, because a process
// of one is stopped.
inline constexpr char kNoProgress[] = "NoProgress";
inline constexpr char kCannotRun[] = "WorkerCannotRun";

// The condition is Unknown: it was one of these, and nothing shows that it still is, nor that the
// job goes on.
inline constexpr char kProgressNotKnown[] = "NotKnown";

// The job's condition Stalled is True for one of `reasons`.
inline bool IsStalledBy(const api::TrainingJob& job,
                        std::initializer_list<std::string_view> reasons) {
  const api::Condition* stalled = api::FindCondition(job.status.conditions, "Stalled");
  if (stalled == nullptr || stalled->status != api::ConditionStatus::kTrue) return false;
  for (const std::string_view reason : reasons) {
    if (stalled->reason == reason) return true;
  }
  return false;
}
// At the last try, as the job's condition Stalled has it.
inline bool ServiceWasRefused(const api::TrainingJob& job) {
  return IsStalledBy(job, {kServiceRefused});
}
inline bool PodsWereRefused(const api::TrainingJob& job) {
  return IsStalledBy(job, {kQuotaExceeded, kPodsRefused});
}
// When the job was found to make no progress, or when that was not known any more; nullopt: it was
// not, or goes on.
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
