// Limits how long a placed gang keeps its hosts while it has no pod on a node.
//
// The owner does not decide this, because a tenant can write an owner that claims for ever that its
// pods will come.
//   - The clock is the transition time of the condition PodsGone, so it continues under another
//     leader.
//   - The clock stops when a pod of the gang is on a node, not when a pod exists. Otherwise one pod
//     could keep the hosts of many gangs by turns.
//   - The limit is the time for which the gang had its hosts before, at least 15 s and at most 60
//     s: a controller that restarts a job has enough time, and a job that was placed only to hold
//     hosts loses them soon.
//   - A gang that had lost a host when its pods went gets up to five minutes: controllers wait
//     longer and longer before they create pods again, and a tenant cannot lose a host at will.
// After the limit the hosts are given back, and the gang is planned again when its pods come.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "pkg/api/gang.h"

namespace yardmaster::gather {

// Returns since when the gang has had no pod on a node. nullopt: not recorded yet, or recorded in
// the future by a process whose clock was ahead.
std::optional<std::int64_t> PodsGoneSinceMs(const api::GangStatus& status, std::int64_t now_ms);
// Reason of PodsGone of a gang that had lost a host when its pods went.
inline constexpr char kPodsGoneAfterLoss[] = "HostLost";

// True if a gang without pods had lost a host when they went or, if that is not recorded yet, has
// lost one now.
bool WentAfterLoss(const api::GangStatus& status);
// Returns how long it keeps its hosts from `gone_ms` on.
std::int64_t KeepsHostsForMs(const api::GangStatus& status, std::int64_t gone_ms);

}  // namespace yardmaster::gather
