// Begins incidents of a job: decides what happens when hosts are lost and workers fail or
// disappear, what that costs of the restart budget, and how long the restart backs off.
//
// Budget: `maxRestarts` counted incidents within `restartWindowSeconds` of the first one; after
// that the budget is full again. A disrupted worker (evicted, preempted, shut down with its node)
// is not counted, unless a failure rule with another action than Ignore matches it.
//
// Back-off: the first restart is immediate; the k-th in a row waits backoffSeconds * 2^(k-2), at
// most maxBackoffSeconds. A row ends when all workers have run for ten minutes.
//
// Unit: if data groups restart by themselves (api::RestartUnit), a restart covers the groups of the
// failed ranks, as an incident with action Replace that lists all ranks of these groups. It
// requires that at least one group keeps running and that no role requests a restart of all. It
// costs one restart of the budget. A stall always restarts all workers, because more than half of
// them wait.
//
// Joining: a failure within 30 s joins an active incident of the same cause and action Replace, if
// its own policy and rule also request a replacement and it uses the budget in the same way. If no
// data group keeps running then, the incident becomes a restart of the job.
//
// Blame: the failure of a worker counts against its host (api/host_record.h), unless the worker was
// disrupted, or a rule ignores the failure or fails the job, because such exit codes are the
// program's. A rule with ReplaceHost makes the job avoid the host for a day. So does the incident
// of a slow host, which counts against the host, too.
//
// Roles: a pod of a role fails by the onFailure of its role. It costs a restart of the same budget,
// no rule applies, and no host is blamed. If several policies apply at the same time, the strictest
// decides.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/operator/jobs/job_observation.h"

namespace yardmaster::op {

// Members that need a decision, each ascending.
struct RankFailures {
  std::vector<int> lost;     // their host is lost
  std::vector<int> failed;   // they ended with an error or were disrupted
  std::vector<int> removed;  // their pods were deleted by others after all had run
};

// Returns the name, for example "HostLost", as used in reasons of conditions and as a key of lost
// GPU time.
const char* NameOf(api::IncidentCause cause);

// Records in `recovery` what follows from `failures`. Returns false if there is nothing to decide.
bool DecideIncident(const JobObservation& job, const RankFailures& failures,
                    api::RecoveryState& recovery);

// Begins the incident of a move: every worker restarts on the hosts that are promised to the job
// next.
void BeginMove(const JobObservation& job, api::RecoveryState& recovery);

// Begins the incident of a job that makes no progress: all workers restart, whatever the unit. If
// all `suspects` are on one host and it is not rented, the job avoids that host. Costs a restart of
// the budget; if none is left, the job fails. The host is blamed if a stall made the job leave it
// within the last day already.
void RestartStalled(const JobObservation& job, const std::string& why,
                    const std::vector<int>& suspects, api::RecoveryState& recovery);

// Fails the job, because it has run for its activeDeadlineSeconds.
void FailAtDeadline(const JobObservation& job, api::RecoveryState& recovery);

}  // namespace yardmaster::op
