// Gangs that have their hosts before their pods (api::GangPods::kFollow): whose pods are to come,
// and for how long the gang keeps its hosts until they do. Extender and operator ask here, so that
// both give the same answer.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pkg/api/gang.h"

namespace yardmaster::gather {

// The operator has that long from the commit: for the network plan, a new leader, and the first
// pods. Then the gang gives its hosts back and queues behind the others.
inline constexpr std::int64_t kPodsComeMs = 120'000;
// Beyond that time, for a job that the operator suspends again then.
inline constexpr std::int64_t kSuspendedAgainMs = 30'000;

// Its job is of another controller, and waits suspended until the gang has its place.
bool IsOfSuspendedJob(const api::Gang& gang);
// It has its hosts, and its pods have never been there all together since it got them.
bool PodsAreToCome(const api::Gang& gang);
// For how long it keeps its hosts then.
std::int64_t PodsComeWithinMs(const api::Gang& gang);

}  // namespace yardmaster::gather
