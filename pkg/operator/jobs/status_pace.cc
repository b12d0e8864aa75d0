#include "pkg/operator/jobs/status_pace.h"

#include <algorithm>

#include "pkg/api/condition.h"
#include "pkg/kube/object.h"

namespace yardmaster::op {

namespace {

std::string KeyTextOf(const api::TrainingJob& job) {
  return kube::MakeKey(job.metadata.namespace_name, job.metadata.name);
}

bool ConditionIs(const api::TrainingJobStatus& status, const char* type,
                 api::ConditionStatus wanted) {
  const api::Condition* condition = api::FindCondition(status.conditions, type);
  return condition != nullptr && condition->status == wanted;
}

// By the ledger, whether it has a place and why not.
bool HasReport(const api::TrainingJobStatus& status) {
  const api::Condition* planned = api::FindCondition(status.conditions, "Planned");
  return planned != nullptr && planned->reason != kGatheringReason &&
         !api::IsTrue(status.conditions, "Stalled");
}

}  // namespace

bool OnlyCountsDiffer(const api::TrainingJobStatus& a, const api::TrainingJobStatus& b) {
  if (a.conditions.size() != b.conditions.size() || a.roles.size() != b.roles.size()) return false;
  api::TrainingJobStatus same = a;
  same.ready_workers = b.ready_workers;
  for (std::size_t i = 0; i < a.roles.size(); ++i) same.roles[i].ready = b.roles[i].ready;
  for (std::size_t i = 0; i < a.conditions.size(); ++i) {
    const std::string& type = a.conditions[i].type;
    const std::string& reason = a.conditions[i].reason;
    if (type == "Running" ||
        (type == "Degraded" && (reason == "WorkersLost" || reason == "Moving" ||
                                reason == "SegmentLost" || reason == "DomainLost"))) {
      same.conditions[i].message = b.conditions[i].message;
    }
  }
  return same == b;
}

bool OnlyBeginsToWait(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after) {
  if (before != api::TrainingJobStatus{}) return false;
  const api::Condition* planned = api::FindCondition(after.conditions, "Planned");
  if (planned == nullptr || planned->reason != kGatheringReason) return false;
  using enum api::ConditionStatus;
  if (!ConditionIs(after, "Queued", kTrue) || !ConditionIs(after, "Placed", kFalse) ||
      !ConditionIs(after, "Running", kFalse) || after.conditions.size() != 4) {
    return false;
  }
  if (std::any_of(after.roles.begin(), after.roles.end(), [](const api::RoleStatus& role) {
        return role.ready > 0 || role.succeeded > 0;
      })) {
    return false;
  }
  api::TrainingJobStatus rest = after;
  rest.observed_generation = 0;
  rest.conditions.clear();
  rest.workers = 0;
  rest.roles.clear();
  return rest == before;
}

std::int64_t StatusWaitMs(const api::TrainingJobStatus& before, const api::TrainingJobStatus& after,
                          const StatusTimes& times) {
  if (before == after) return 0;
  const auto left = [&](std::int64_t since_ms, std::int64_t wait_ms) {
    return std::max<std::int64_t>(0, since_ms + wait_ms - times.now_ms);
  };
  if (OnlyBeginsToWait(before, after)) {
    const std::int64_t wait_ms = left(times.first_reconcile_ms, kFirstMs);
    const bool busy = times.reported_ms && times.now_ms - *times.reported_ms < kFirstMs;
    if (wait_ms > 0 || !busy) return wait_ms;
    return std::min(kBusyAgainMs, left(times.first_reconcile_ms, kFirstBusyMs));
  }
  if (times.written_ms && OnlyCountsDiffer(before, after)) {
    return left(*times.written_ms, kCountsMs);
  }
  return 0;
}

std::int64_t StatusPace::WaitMs(const api::TrainingJob& job, const api::TrainingJobStatus& after,
                                bool asks) {
  StatusTimes times{clock_.SteadyMs(), std::nullopt, 0, std::nullopt};
  const bool begins = OnlyBeginsToWait(job.status, after);
  if (begins && !asks) return 0;
  {
    const MutexLock lock(mutex_);
    if (const auto written = written_ms_.find(job.metadata.uid); written != written_ms_.end()) {
      times.written_ms = written->second;
    }
    if (begins) {
      FirstReconcile& first = first_reconciles_[KeyTextOf(job)];
      if (first.uid != job.metadata.uid) first = {job.metadata.uid, times.now_ms};
      times.first_reconcile_ms = first.time_ms;
    } else if (HasReport(after) && first_reconciles_.count(KeyTextOf(job)) != 0) {
      reported_ms_ = times.now_ms;
    }
    times.reported_ms = reported_ms_;
  }
  return StatusWaitMs(job.status, after, times);
}

void StatusPace::Written(const api::TrainingJob& job) {
  const std::int64_t now_ms = clock_.SteadyMs();
  const MutexLock lock(mutex_);
  std::erase_if(written_ms_,
                [&](const auto& written) { return written.second + kCountsMs <= now_ms; });
  written_ms_[job.metadata.uid] = now_ms;
  first_reconciles_.erase(KeyTextOf(job));
}

void StatusPace::Forget(const std::string& key) {
  const MutexLock lock(mutex_);
  first_reconciles_.erase(key);
}

}  // namespace yardmaster::op
