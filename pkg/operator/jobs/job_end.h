// Decides the cleanup of a TrainingJob that has succeeded or failed: pods that still run are
// removed; with cleanPodPolicy All, finished pods, too; and the job itself is deleted
// ttlSecondsAfterFinished after its end.
//
// Level triggered. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pkg/operator/jobs/job_step.h"

namespace yardmaster::op {

struct EndStep {
  std::vector<Removal> remove;  // by rank, then surplus pods; never by force
  bool delete_job = false;
  std::optional<std::int64_t> look_again_ms;
};

// `completion_ms`: wall time of the end; 0: not known, and the job is not deleted.
EndStep AfterEnd(const JobObservation& job, std::int64_t completion_ms);

}  // namespace yardmaster::op
