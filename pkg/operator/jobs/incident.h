// Begins incidents: what is done about lost hosts and about workers that failed or disappeared, at
// what cost to the restart budget, and after which back-off.
//
// Budget: `maxRestarts` counted incidents within `restartWindowSeconds` of the first of them; then
// it is full again. Back-off: the first restart is immediate, the k-th in a row waits
// backoffSeconds * 2^(k-2), at most maxBackoffSeconds; ten minutes of all workers running end the
// row. A disrupted worker (evicted, preempted, shut down with its node) is not counted, unless a
// failure rule with another action than Ignore matches it.
//
// Where data groups are the unit (api::RestartUnit), a restart is of the groups of the ranks
// concerned: its action is Replace and its ranks are all of theirs, as long as one group goes on
// and no role asks for a restart of all. Each takes a restart of the same budget. A stall restarts
// all workers: it is one of more than half of them, so the groups that should go on do not.
//
// A failure joins a replacement of the same cause that began in the last 30 s, if what its own
// policy and rule ask for is a replacement, too, and the budget is concerned in the same way. Where
// no data group is left that goes on, the incident becomes a restart of the job.
//
// A worker's failure counts against its host (api/host_record.h) unless it was disrupted or a rule
// says that it is ignored or that the job fails: such exit codes are the program's. A rule with
// ReplaceHost makes the job avoid the host for a day. So does the incident of a slow host, which
// counts against it, too.
//
// A pod of a role fails by the role's onFailure: it takes a restart of the same budget, no rule
// applies, and no host is blamed. Of several policies that are concerned at the same time the
// strictest decides.
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
  std::vector<int> failed;   // ended with an error, or disrupted
  std::vector<int> removed;  // deleted by others after all had run
};

// "HostLost": as a condition's reason and a key of lost GPU time have it.
const char* NameOf(api::IncidentCause cause);

// Records what follows from `failures` in `recovery`. False: nothing is to be decided.
bool DecideIncident(const JobObservation& job, const RankFailures& failures,
                    api::RecoveryState& recovery);

// The job leaves its hosts for those that are promised to it next: every worker restarts.
void BeginMove(const JobObservation& job, api::RecoveryState& recovery);

// All workers of a job that makes no progress restart, whatever the unit: not on the host of
// `suspects`, where they are on one host and it is not rented. It takes a restart of the budget;
// where none is left, the job fails. The host is blamed when the job has left it for the same
// reason within a day.
void RestartStalled(const JobObservation& job, const std::string& why,
                    const std::vector<int>& suspects, api::RecoveryState& recovery);

// The job has run for its activeDeadlineSeconds and fails.
void FailAtDeadline(const JobObservation& job, api::RecoveryState& recovery);

}  // namespace yardmaster::op
