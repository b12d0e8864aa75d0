// For how long a placed gang keeps its hosts while it has no pod.
//
// Its owner does not decide that: a tenant can write an owner that says for ever that its pods will
// come. The clock is the transition of the condition PodsGone, so that it goes on when another
// process leads. It stops when a pod of the gang is on a node, not when one exists: otherwise one
// pod could keep the hosts of many gangs by turns. The limit is the time for which the gang had its
// hosts before, from 15 s to 60 s: a controller that restarts a job has time for it, and a job that
// was placed only to hold hosts loses them soon. A gang that had lost a host when its pods went is
// given up to five minutes: controllers wait longer and longer before they make pods again, and no
// tenant can lose a host at will. After it the hosts are given back, and the gang is
// planned again when its pods come.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "pkg/api/gang.h"

namespace yardmaster::gather {

// Since when the gang has had no pod. nullopt: that was not written yet, or lies in the future
// because the clock of the process that wrote it was ahead.
std::optional<std::int64_t> PodsGoneSinceMs(const api::GangStatus& status, std::int64_t now_ms);
// The reason of PodsGone of a gang that had lost a host by then.
inline constexpr char kPodsGoneAfterLoss[] = "HostLost";

// Whether a gang without pods had lost a host when they went or, where that was not written yet,
// has lost one now.
bool WentAfterLoss(const api::GangStatus& status);
// For how long it keeps its hosts from `gone_ms` on.
std::int64_t KeepsHostsForMs(const api::GangStatus& status, std::int64_t gone_ms);

}  // namespace yardmaster::gather
