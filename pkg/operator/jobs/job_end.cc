#include "pkg/operator/jobs/job_end.h"

namespace yardmaster::op {

EndStep AfterEnd(const JobObservation& job, std::int64_t completion_ms) {
  EndStep step;
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    const Worker& worker = job.workers[i];
    if (worker.phase == WorkerPhase::kMissing || worker.deleting) continue;
    const bool finished =
        worker.phase == WorkerPhase::kSucceeded || worker.phase == WorkerPhase::kFailed;
    if (!finished || job.run.clean_pods == api::CleanPodPolicy::kAll) {
      step.remove.push_back({static_cast<int>(i), worker.uid, false});
    }
  }
  for (const SurplusPod& pod : job.surplus) {
    if (!pod.deleting) step.remove.push_back({pod.rank, pod.uid, false, true});
  }
  if (!job.run.ttl_seconds_after_finished || completion_ms == 0) return step;
  const std::int64_t left_ms =
      completion_ms + 1000 * *job.run.ttl_seconds_after_finished - job.now_ms;
  step.delete_job = left_ms <= 0;
  if (left_ms > 0) step.look_again_ms = left_ms;
  return step;
}

}  // namespace yardmaster::op
