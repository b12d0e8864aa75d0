// Lets jobs wait for hosts that will soon be free (Snapshot::leaving).
//
// The hosts of an ended job become free one by one. A job that takes the first sufficient ones is
// split more often than one that waits a moment for the rest. So two places are searched for each
// job of the queue: one now, and one as if those hosts were free. If the second is better by the
// objective, or is the only one, its hosts are kept for the job and it waits. Otherwise, also
// between equal places, the job takes the place now.
//
// One limit covers all waits of a job until it has a place, from JobState::awaits_since_ms on,
// which the caller stores with the job. A host that will be free later than the limit is not waited
// for, nor one that is overdue by kLeavingSlackMs.
//
// Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/plan/place_policy.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// Tolerance for differences of clocks, for the kubelet to report the end of a pod, and for the
// garbage collector.
inline constexpr std::int64_t kLeavingSlackMs = 10'000;

struct AwaitedHosts {
  std::vector<fabric::HostId> hosts;  // all hosts of the place, ascending
  std::int64_t until_ms = 0;          // wall time at which the wait ends in any case
};

// Returns when the job's time for waiting ends. It may be in the past.
std::int64_t AwaitsUntilMs(const Snapshot& snapshot, JobId job, std::int64_t limit_ms);

// Returns the policies that let each job wait up to `limit_ms`. List them before policies that
// choose among places or stop others.
Policies AwaitLeavingHosts(std::int64_t limit_ms);

}  // namespace yardmaster::plan
