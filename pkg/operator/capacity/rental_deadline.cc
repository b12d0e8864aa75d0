#include "pkg/operator/capacity/rental_deadline.h"

#include <algorithm>
#include <cmath>

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/state/capacity_offers.h"

namespace yardmaster::op {

namespace {

double LostSeconds(const api::TrainingJob& job) {
  double gpu_seconds = 0;
  for (const auto& [cause, lost] : job.status.lost_gpu_seconds) gpu_seconds += lost;
  return gpu_seconds /
         std::max(1.0, static_cast<double>(job.job.workers) * job.job.gpus_per_worker);
}

// Since when all workers run; nullopt: they do not.
std::optional<std::int64_t> RunsSinceMs(const api::TrainingJob& job) {
  if (job.status.start_ms == 0 || job.status.ended()) return std::nullopt;
  const api::Condition* running = api::FindCondition(job.status.conditions, "Running");
  if (running == nullptr || running->status != api::ConditionStatus::kTrue) return std::nullopt;
  return std::max(job.status.start_ms, running->transition_ms);
}

// Work that is repeated when the hosts are taken back now, or would be in the next run.
double AtRiskSeconds(const api::TrainingJob& job, std::int64_t now_ms) {
  const double usual = job.checkpoint.interval_seconds > 0 ? job.checkpoint.interval_seconds
                                                           : job.status.checkpoint.interval_seconds;
  const auto since_ms = RunsSinceMs(job);
  if (!since_ms) return usual;  // what was lost before is in status.lostGpuSeconds
  const std::int64_t safe_ms = std::max(job.status.checkpoint.last_ms, *since_ms);
  return std::max(usual, static_cast<double>(now_ms - safe_ms) / 1000);
}

// The longest time from the decision to leave hosts until all workers run on others.
double ChangeSeconds(const api::TrainingJob& job, const std::vector<api::CapacityPool>& pools) {
  int provision_seconds = 0;
  for (const api::CapacityPool& pool : pools) {
    if (pool.scaling.kind() == api::ScalingKind::kNone) continue;
    provision_seconds = std::max(provision_seconds, pool.scaling.timeout_seconds);
  }
  return static_cast<double>(state::StopSeconds(job) + provision_seconds) +
         job.capacity.restart_seconds;
}

}  // namespace

std::int64_t RanSecondsSince(const api::TrainingJob& job, std::int64_t accounted_ms,
                             std::int64_t now_ms) {
  const auto since_ms = RunsSinceMs(job);
  if (job.capacity.deadline_ms == 0 || !since_ms) return 0;
  return std::max<std::int64_t>(0, now_ms - std::max(*since_ms, accounted_ms)) / 1000;
}

std::optional<capacity::DeadlineNeed> DeadlineNeedOf(const api::TrainingJob& job,
                                                     const api::CapacityStatus& status,
                                                     const std::vector<api::CapacityPool>& pools,
                                                     std::int64_t now_ms) {
  if (job.capacity.deadline_ms == 0) return std::nullopt;
  capacity::DeadlineNeed need;
  need.seconds_left = static_cast<double>(job.capacity.deadline_ms - now_ms) / 1000;
  const double done = static_cast<double>(status.ran_seconds) - LostSeconds(job);
  need.work_seconds = std::max(0.0, job.capacity.work_seconds - std::max(0.0, done));
  need.change_seconds = ChangeSeconds(job, pools);
  need.at_risk_seconds = AtRiskSeconds(job, now_ms);
  return need;
}

bool HasRevocableHosts(const api::CapacityStatus& status) {
  return std::any_of(status.hosts.begin(), status.hosts.end(),
                     [](const api::RentedHosts& part) { return IsRevocable(part.type); });
}

std::vector<api::CapacityPool> WithoutRevocableOffers(std::vector<api::CapacityPool> pools) {
  for (api::CapacityPool& pool : pools) {
    for (api::CapacityOffer& offer : pool.offers) {
      if (IsRevocable(offer.type)) offer.max_hosts = 0;
    }
  }
  return pools;
}

std::string DescribeDeadline(const api::TrainingJob& job, const capacity::DeadlineNeed& need) {
  return StrCat("the deadline ", FormatTime(job.capacity.deadline_ms), " leaves ",
                std::llround(need.seconds_left), " s for ", std::llround(need.work_seconds),
                " s of work and a change of hosts");
}

}  // namespace yardmaster::op
