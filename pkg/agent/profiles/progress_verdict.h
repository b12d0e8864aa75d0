// Whether a worker waits: from what is known of its iterations, its processes and its GPUs to what
// the agent reports of it (api/progress_report.h).
//
// A worker waits when it is armed (progress_tracker.h) and has made no progress for
//   max(min_wait, `iterations` of its own iterations, `pauses` times its longest pause),
// and already after max(stopped, 1.5 of its iterations) where a process that did a part of the work
// is stopped: no pause of the job's own looks like that. One that waits in the kernel may write a
// checkpoint, for minutes where the file system is slow, and has the time of every other pause. A
// worker that was never armed, or whose processes are others than when it made progress, does not
// wait.
//
// What holds: a worker that makes progress does not wait. A pause of the job's own (a checkpoint,
// an evaluation) is taken for waiting at most once for each longest pause, and only where it is
// longer than min_wait; what is done about it is decided of all workers together
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

// nullopt: nothing is known. `processes`: nullopt while they are not looked at.
std::optional<api::ProgressState> AssessProgress(const ProgressFacts& facts,
                                                 const std::optional<ProcessSummary>& processes,
                                                 const ProgressLimits& limits);

}  // namespace yardmaster::agent
