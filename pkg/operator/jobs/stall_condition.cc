#include "pkg/operator/jobs/stall_condition.h"

#include <cstdint>

#include "pkg/operator/jobs/no_progress.h"

namespace yardmaster::op {

namespace {

constexpr char kStalled[] = "Stalled";
constexpr char kProgressing[] = "Progressing";

bool HasRestartedSince(const api::RecoveryState& recovery, std::int64_t stalled_ms) {
  return recovery.active() != nullptr ||
         (!recovery.incidents.empty() && recovery.incidents.back().start_ms >= stalled_ms);
}

// What a job that is not stalled is told.
std::string MessageOfNoStall(const std::string& reason) {
  if (reason == kProgressing) return "the job makes progress or has restarted";
  if (reason != kProgressNotKnown) return "no pod of the job is refused";
  return "agents do not report any more that the job makes no progress, and none reports that it "
         "does";
}

// Whether the condition says already what the last event said. The numbers of a quota change with
// every try, and suspects as more agents report.
bool IsReported(const api::Condition* before, const StallReason& stall) {
  if (before == nullptr) return false;
  if (before->status == api::ConditionStatus::kTrue) return before->reason == stall.reason;
  return before->reason == kProgressNotKnown;
}

}  // namespace

std::optional<StallChange> NextStalled(const api::TrainingJob& job, const StallReason& stall,
                                       const std::string& reason_of_none) {
  const api::Condition* before = api::FindCondition(job.status.conditions, kStalled);
  const std::int64_t generation = job.metadata.generation;
  if (stall.exists()) {
    return StallChange{
        {kStalled, api::ConditionStatus::kTrue, stall.reason, stall.message, generation, 0},
        !IsReported(before, stall)};
  }
  const bool was_none = before == nullptr || before->status == api::ConditionStatus::kFalse;
  if (reason_of_none.empty() || was_none || before->reason == reason_of_none) return std::nullopt;
  const auto status = reason_of_none == kProgressNotKnown ? api::ConditionStatus::kUnknown
                                                          : api::ConditionStatus::kFalse;
  return StallChange{
      {kStalled, status, reason_of_none, MessageOfNoStall(reason_of_none), generation, 0}, false};
}

std::string ReasonOfNoStall(const api::TrainingJob& job, const JobObservation& observed,
                            const JobStep& step) {
  if (step.recovery.suspended) return "Suspended";
  if (step.outcome != JobOutcome::kRunning) return "Ended";
  if (const auto stalled_ms = NoProgressMs(job)) {
    const bool goes_on =
        HasRestartedSince(step.recovery, *stalled_ms) || MadeProgressSince(observed, *stalled_ms);
    return goes_on ? kProgressing : kProgressNotKnown;
  }
  return step.pods > 0 || !step.create.empty() ? "PodsCreated" : "";
}

}  // namespace yardmaster::op
