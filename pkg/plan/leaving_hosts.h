// Hosts that come free soon (Snapshot::leaving), and jobs that wait for them.
//
// The hosts of an ended job come free one by one. A job that takes the first ones that suffice is
// cut more often than if it had waited a moment for the rest. So each job of the queue is searched
// a place twice: as things stand, and as if those hosts were free. Where the second place is better
// by the objective, or is the only one, its hosts are kept for the job and it waits; otherwise,
// also between equal places, it takes what is there.
//
// The limit is one for all waits of a job until it has a place, from JobState::awaits_since_ms on,
// which the caller keeps with the job. A host that comes free later than that is not waited for,
// nor one that should have been free for kLeavingSlackMs.
//
// Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/plan/place_policy.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// Between clocks, for a kubelet to say that a pod has ended, and for the garbage collector.
inline constexpr std::int64_t kLeavingSlackMs = 10'000;

struct AwaitedHosts {
  std::vector<fabric::HostId> hosts;  // all of the place, ascending
  std::int64_t until_ms = 0;          // the wait ends then, whatever is free; wall time
};

// When the job's time for waiting is over. It may be in the past.
std::int64_t AwaitsUntilMs(const Snapshot& snapshot, JobId job, std::int64_t limit_ms);

// Lets jobs wait, `limit_ms` each. Before policies that choose among places or stop others.
Policies AwaitLeavingHosts(std::int64_t limit_ms);

}  // namespace yardmaster::plan
