#include "pkg/operator/plan_waiters.h"

#include "pkg/operator/pods_by_gang.h"

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
  ++count_;
}

void PlanWaiters::NotePod(const api::Pod& pod, const FindGang& find_gang) {
  const auto key = GangBehindGate(pod);
  if (!key) return;
  const auto gang = find_gang(key->text());
  if (gang == nullptr || !WaitsForPlan(pod, *gang)) return;
  const MutexLock lock(mutex_);
  ++count_;
}

std::uint64_t PlanWaiters::count() const {
  const MutexLock lock(mutex_);
  return count_;
}

}  // namespace yardmaster::op
