// Whether a job whose workers all run makes no progress, and who is the suspect, by what agents
// report of its workers (api/progress_report.h).
//
// A report counts while the worker waits, until it is older than kProgressLifeMs, for its agent may
// be gone, and when its last progress was in the present attempt of the job: what happened before a
// restart, and a start that takes long, say nothing.
//
// The job is stalled when
//   1. a process of a worker is stopped, for kStoppedMs, and the others cannot go on without it: a
//      worker that fails restarts them all by the job's policy, or more than half of the workers
//      wait, too; or
//   2. more than half of the workers have waited for the job's limit (stallSeconds, or
//      kAutomaticLimitMs), which begins again where the job reports a checkpoint, and the GPUs of
//      none compute. Nothing tells it from a pause of the job's own but its length: each agent
//      reports only what is longer than any pause before it. Processes that wait in the kernel do
//      not either, since those that write a checkpoint do.
//
// Suspects, of the first kind of evidence that there is:
//   a. those with a stopped process; those with one that waits in the kernel. Unless they are more
//      than half of the workers;
//   b. those whose processes are idle, at most a quarter, while more than half of the workers use
//      CPUs: who waits for others polls for them;
//   c. the only one whose last progress was earlier than that of every other worker, by more than
//      clocks and measurements are wrong (kApartMs) and than one iteration, where all report.
//   Else there is none.
//
// That a job is not found to be stalled does not mean that it makes progress: agents go, and
// withdraw what they have said. It is known to where a worker's agent says so, or that its GPUs
// compute, or the job has reported a checkpoint.
//
// Thread safety: pure function. Complexity: linear in the workers. Determinism: suspects ascend.
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

// How long before a condition what was written later may have been seen: agents write at intervals,
// and clocks differ.
inline constexpr std::int64_t kSeenBeforeMs = 60'000;

struct NoProgress {
  StallReason stall;          // reason kNoProgress or kCannotRun; empty: the job is not stalled
  std::vector<int> suspects;  // ranks
  // When a job that is not stalled may be.
  std::optional<std::int64_t> look_again_ms;
};

// REQUIRES: all ranks run, and no incident is under way.
NoProgress FindNoProgress(const JobObservation& job);

// The job is known to have made progress after it was stalled, or nothing was known of it, at
// `stalled_ms`.
bool MadeProgressSince(const JobObservation& job, std::int64_t stalled_ms);

}  // namespace yardmaster::op
