#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/operator/jobs/job_controller.h"
#include "pkg/operator/jobs/work_loss.h"
#include "pkg/operator/write_target.h"

namespace yardmaster::op {

namespace {

bool HasFinalizer(const api::TrainingJob& job) {
  const auto& finalizers = job.metadata.finalizers;
  return std::find(finalizers.begin(), finalizers.end(), api::kShutdownFinalizer) !=
         finalizers.end();
}

bool IsLive(const Worker& worker) {
  return worker.phase != WorkerPhase::kMissing && worker.phase != WorkerPhase::kSucceeded &&
         worker.phase != WorkerPhase::kFailed;
}

}  // namespace

absl::Status JobController::SetFinalizer(api::TrainingJob& job, bool wanted) {
  if (HasFinalizer(job) == wanted) return absl::OkStatus();
  const std::string ours = api::kShutdownFinalizer;
  std::vector<std::string> finalizers = job.metadata.finalizers;
  if (wanted) {
    finalizers.push_back(ours);
  } else {
    std::erase(finalizers, ours);
  }
  const nlohmann::json patch = {{"metadata",
                                 {{"uid", job.metadata.uid},
                                  {"resourceVersion", job.metadata.resource_version},
                                  {"finalizers", finalizers}}}};
  const auto written =
      client_.Patch({kube::TrainingJobs(), job.metadata.namespace_name, job.metadata.name, ""},
                    kube::MergePatch(patch), {kFieldManager});
  if (absl::IsNotFound(written.status()) && !wanted) return absl::OkStatus();
  YM_RETURN_IF_ERROR(written.status());
  if (wanted) cache_.Assume(state::Kind::kTrainingJob, *written);
  job.metadata.resource_version = kube::ResourceVersionOf(*written);
  job.metadata.finalizers = std::move(finalizers);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::int64_t>> JobController::ShutDown(const api::TrainingJob& found) {
  const std::optional<std::int64_t> nothing;
  // Without it the garbage collector takes the pods, the Service and the Gang.
  if (!HasFinalizer(found)) return nothing;
  api::TrainingJob job = found;
  StallReason stall;
  api::CheckpointMark checkpoint;
  JobObservation observed = observer_.Observe(job, stall, checkpoint);
  if (std::none_of(observed.workers.begin(), observed.workers.end(), IsLive)) {
    YM_RETURN_IF_ERROR(SetFinalizer(job, false));
    return nothing;
  }
  if (found.status.ended()) return CleanUp(found);
  observed.run.suspended = job.run.suspended = true;
  const JobStep step = NextStep(observed);
  const auto gang = cache_.FindGang(StrCat(
      job.metadata.namespace_name, "/", api::GangName(api::kTrainingJobKind, job.metadata.name)));
  api::TrainingJobStatus status = StatusOf(job, gang.get(), step, clock_.WallMs());
  SetCheckpoint(job, checkpoint, observed.now_ms, status);
  const absl::Status written = WriteStatus(job, status);
  if (absl::IsNotFound(written)) return nothing;
  YM_RETURN_IF_ERROR(written);
  if (step.request_checkpoint_ms != 0) {
    YM_RETURN_IF_ERROR(writes_.RequestCheckpoint(job, observed, step.request_checkpoint_ms));
  }
  TurnResult result{step.look_again_ms};
  YM_RETURN_IF_ERROR(Act(job, observed, step, {}, stall, result));
  return result.look_again_ms;
}

}  // namespace yardmaster::op
