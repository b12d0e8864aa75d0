// Decides whether a worker waits, from its iterations, its processes and its GPUs, for the agent's
// report (api/progress_report.h).
//
// A worker waits if it is armed (progress_tracker.h) and has made no progress for
//   max(min_wait, `iterations` of its own iterations, `pauses` times its longest pause).
// If a process that did part of the work is stopped, max(stopped, 1.5 of its iterations) is enough,
// because no pause of a job itself looks like that. A process in uninterruptible sleep may write a
// checkpoint, which takes minutes on a slow file system, and gets the time of every other pause. A
// worker that was never armed, or whose processes have changed since it made progress, does not
// wait.
//
// Guarantee: a worker that makes progress does not wait. A pause of the job itself (a checkpoint,
// an evaluation) is mistaken for waiting at most once for each longest pause, and only if it is
// longer than min_wait. The operator decides what to do, from the reports of all workers
// (operator/jobs/no_progress.h), and not before the job's limit.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "pkg/agent/profiles/pod_processes.h"
#include "pkg/agent/profiles/progress_tracker.h"
#include "pkg/api/progress_report.h"

namespace yardmaster::agent {

struct ProgressLimits {
  std::int64_t min_wait_ms = 60'000;
  std::int64_t stopped_ms = 20'000;
  double iterations = 5;
  double pauses = 1.5;
};

// Returns the state; nullopt: not known. `processes`: nullopt while they are not observed.
std::optional<api::ProgressState> AssessProgress(const ProgressFacts& facts,
                                                 const std::optional<ProcessSummary>& processes,
                                                 const ProgressLimits& limits);

}  // namespace yardmaster::agent
