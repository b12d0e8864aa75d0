#include "pkg/operator/network/plan_waiters.h"

#include "pkg/operator/network/pods_by_gang.h"

namespace yardmaster::op {

void PlanWaiters::NoteGang(const std::string& key, const api::Gang* gang) {
  const MutexLock lock(mutex_);
  if (gang == nullptr || !gang->status.committed()) {
    plan_generations_.erase(key);
    return;
  }
  std::int64_t& known = plan_generations_[key];
  if (known == gang->status.plan_generation) return;
  known = gang->status.plan_generation;
  Count(*gang);
}

void PlanWaiters::NotePod(const api::Pod& pod, const FindGang& find_gang) {
  const auto key = GangBehindGate(pod);
  if (!key) return;
  const auto gang = find_gang(key->text());
  if (gang == nullptr || !WaitsForPlan(pod, *gang)) return;
  const MutexLock lock(mutex_);
  Count(*gang);
}

void PlanWaiters::Count(const api::Gang& gang) {
  ++counts_.all;
  counts_.blocked_released_gangs +=
      api::IsTrue(gang.status.conditions, api::kReleasedCondition) ? 1 : 0;
}

PlanWaiters::Counts PlanWaiters::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

}  // namespace yardmaster::op
