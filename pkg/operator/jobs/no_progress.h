// Decides whether a job whose workers all run has stopped making progress, and which workers are
// suspected, from the reports of the agents (api/progress_report.h).
//
// A report that a worker waits is used until it is older than kProgressLifeMs, because its agent
// may be gone. The worker's last progress must be in the present attempt of the job: a report from
// before a restart, or during a long start, is not used.
//
// A job that reports that training is over (api/checkpoint_mark.h) is not stalled: the rest of its
// work has no iterations. A job of which a worker has succeeded is not judged either, because not
// all of its workers run.
//
// The job is stalled in one of two cases:
//   1. A process of a worker has been stopped (state T) for kStoppedMs, and the other workers
//      cannot continue without it: the job's policy restarts all workers when one fails, or more
//      than half of the workers wait, too.
//   2. More than half of the workers have waited for the limit (stallSeconds, or
//      kAutomaticLimitMs), and the GPUs of none compute. A reported checkpoint restarts the limit.
//      Only its length distinguishes a stall from a pause of the job itself: each agent reports
//      only waits that are longer than every pause before. A process in uninterruptible sleep
//      (state D) does not distinguish it either, because writing a checkpoint looks the same.
//
// Suspects, by the first kind of evidence that exists:
//   1. Workers with a stopped process, or with one in uninterruptible sleep. If they are more than
//      half of the workers, there is no suspect.
//   2. Workers whose processes are idle, if they are at most a quarter while more than half use
//      CPUs. A worker that waits for others polls for them.
//   3. The worker that stopped first, if all workers report and it stopped earlier than every other
//      one by more than kApartMs and more than one iteration.
// Otherwise there is none.
//
// A job that is not found stalled does not necessarily make progress, because agents go away and
// withdraw reports. MadeProgressSince needs positive evidence: an agent reports progress or
// computing GPUs, or the job reported a checkpoint.
//
// Thread safety: pure functions. Complexity: linear in the workers. Determinism: suspects ascend.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pkg/operator/jobs/job_observation.h"
#include "pkg/operator/jobs/stall_reason.h"

namespace yardmaster::op {

inline constexpr std::int64_t kStoppedMs = 30'000;
inline constexpr std::int64_t kAutomaticLimitMs = 600'000;
inline constexpr std::int64_t kApartMs = 5'000;

// Tolerance when a report is compared with the time of a condition: agents write at intervals, and
// clocks differ.
inline constexpr std::int64_t kSeenBeforeMs = 60'000;

struct NoProgress {
  StallReason stall;          // reason kNoProgress or kCannotRun; empty: the job is not stalled
  std::vector<int> suspects;  // ranks
  // If the job is not stalled: when to check it again.
  std::optional<std::int64_t> look_again_ms;
};

// REQUIRES: all ranks run, and no incident is active.
NoProgress FindNoProgress(const JobObservation& job);

// True if the job has made progress since `stalled_ms`, when it was found stalled or its progress
// was unknown.
bool MadeProgressSince(const JobObservation& job, std::int64_t stalled_ms);

}  // namespace yardmaster::op
