// What spec.capacity.deadline asks of the hosts of a job: how much work is left, and whether it can
// still be done on hosts that are taken back (pkg/capacity/deadline.h).
//
// Work that is done: the time that all workers ran (status.capacity.ranSeconds), without what
// incidents and changes of hosts cost (status.lostGpuSeconds). The pauses of incidents are in
// neither and are taken off all the same, so that work is rather counted too low. Thread safety:
// pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/capacity_pool.h"
#include "pkg/api/training_job.h"
#include "pkg/capacity/deadline.h"

namespace yardmaster::op {

// Seconds that all workers ran from `accounted_ms`, the moment until which they are counted, to
// `now_ms`. 0 without a deadline, and while they do not run.
std::int64_t RanSecondsSince(const api::TrainingJob& job, std::int64_t accounted_ms,
                             std::int64_t now_ms);

// nullopt: the job has no deadline. `status` is job.status.capacity, accounted until `now_ms`; the
// pools say how long hosts may take to come.
std::optional<capacity::DeadlineNeed> DeadlineNeedOf(const api::TrainingJob& job,
                                                     const api::CapacityStatus& status,
                                                     const std::vector<api::CapacityPool>& pools,
                                                     std::int64_t now_ms);

// Hosts of a spot offer may be taken back; those of the others stay.
inline bool IsRevocable(api::CapacityType type) { return type == api::CapacityType::kSpot; }
bool HasRevocableHosts(const api::CapacityStatus& status);
// The offers stay, with no hosts: what is rented of them counts for the budgets of their pools.
std::vector<api::CapacityPool> WithoutRevocableOffers(std::vector<api::CapacityPool> pools);

// "the deadline 2026-01-01T00:00:00Z leaves 3600 s for 3000 s of work"
std::string DescribeDeadline(const api::TrainingJob& job, const capacity::DeadlineNeed& need);

}  // namespace yardmaster::op
