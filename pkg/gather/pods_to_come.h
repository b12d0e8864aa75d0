// Describes gangs that get their hosts before their pods (api::GangPods::kFollow): whether their
// pods are still to come, and how long the gang keeps its hosts until then. Extender and operator
// use the same functions, so they always agree.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pkg/api/gang.h"

namespace yardmaster::gather {

// The time from the commit that the operator has for the network plan, a change of leader and the
// first pods. After it the gang gives its hosts back and goes to the end of the queue.
inline constexpr std::int64_t kPodsComeMs = 120'000;
// Additional time for a job that the operator then suspends again.
inline constexpr std::int64_t kSuspendedAgainMs = 30'000;

// True if the job belongs to another controller and waits suspended until the gang has its place.
bool IsOfSuspendedJob(const api::Gang& gang);
// True if the gang has its hosts, and its pods have never all existed at the same time since it got
// them.
bool PodsAreToCome(const api::Gang& gang);
// Returns how long the gang keeps its hosts in that case.
std::int64_t PodsComeWithinMs(const api::Gang& gang);

}  // namespace yardmaster::gather
