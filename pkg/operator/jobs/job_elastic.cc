#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/base/status.h"
#include "pkg/operator/jobs/job_controller.h"

namespace yardmaster::op {

namespace {

// A job in a queue of Kueue has no more workers than were admitted.
std::vector<int> SizesWithinQuota(const api::TrainingJob& job) {
  std::vector<int> sizes = api::SizesOf(job.job, job.elastic);
  const api::AdmittedPodSet* const admitted = job.status.queue.admitted(0);
  if (admitted == nullptr) return sizes;
  std::erase_if(sizes, [&](int data) {
    return api::WorkersOf(job.job, data).value_or(admitted->count) > admitted->count;
  });
  return sizes;
}

}  // namespace

int JobController::LargestFitOf(const api::TrainingJob& job, const std::vector<int>& sizes,
                                Fit fit) {
  MutexLock lock(builder_mutex_);
  const plan::Snapshot snapshot = builder_.Build(cache_.Take());
  const NamespacedName key{job.metadata.namespace_name,
                           api::GangName(api::kTrainingJobKind, job.metadata.name)};
  for (const plan::JobId id : snapshot.job_ids()) {
    if (snapshot.jobs[id.index()].job.key != key) continue;
    if (fit != Fit::kFromScratch && OthersWait(snapshot, id)) return 0;
    if (fit == Fit::kInPlaceAlone) return LargestGrowthInPlace(snapshot, id, job.job, sizes);
    return LargestSizeThatFits(snapshot, id, job.job, sizes);
  }
  return 0;
}

absl::StatusOr<bool> JobController::HoldsHosts(const api::TrainingJob& job) {
  const auto gang = client_.Get({kube::Gangs(), job.metadata.namespace_name,
                                 api::GangName(api::kTrainingJobKind, job.metadata.name), ""});
  if (absl::IsNotFound(gang.status())) return false;
  YM_RETURN_IF_ERROR(gang.status());
  YM_ASSIGN_OR_RETURN(const api::Gang decoded, api::DecodeGang(*gang, api::Decoding::kLenient));
  return decoded.status.committed();
}

SizeDecision JobController::DecideElastic(const api::TrainingJob& job,
                                          const JobObservation& observed) {
  if (!job.elastic.enabled || job.status.elastic.target != 0 || job.run.suspended ||
      job.status.recovery.suspended || job.status.move.active()) {
    return {};
  }
  const api::ElasticStatus& now = job.status.elastic;
  // Ranks that found no room are removed first.
  if (now.previous > now.data) return {};
  ElasticView view{job.elastic, SizesWithinQuota(job), job.job.parallelism.data, now.changed_ms,
                   {},          observed.running_ms};
  view.now_ms = observed.now_ms;
  view.joins = job.recovery.on_host_loss == api::OnHostLoss::kReplace;
  view.growing_from = now.previous;
  for (int rank = observed.ranks_before_growth(); rank < observed.ranks(); ++rank) {
    const WorkerPhase phase = observed.workers[static_cast<std::size_t>(rank)].phase;
    view.awaits_room |= phase == WorkerPhase::kMissing || phase == WorkerPhase::kGated;
  }
  const api::Condition* queued = api::FindCondition(job.status.conditions, "Queued");
  if (queued != nullptr && queued->status == api::ConditionStatus::kTrue && view.running_ms == 0) {
    view.waiting_ms = observed.now_ms - queued->transition_ms;
  }
  const api::Incident* active = job.status.recovery.active();
  const bool waits =
      std::any_of(observed.workers.begin(), observed.workers.end(), [&](const Worker& worker) {
        return (worker.phase == WorkerPhase::kGated &&
                worker.attempt >= job.status.recovery.attempt) ||
               (worker.phase == WorkerPhase::kMissing && placer_.places_first() &&
                !observed.placed);
      });
  if (active != nullptr && waits && !view.waiting_ms) {
    view.waiting_ms = observed.now_ms - std::max(active->start_ms, active->not_before_ms);
  }
  return DecideSize(
      view, [&](const auto& sizes) { return LargestFitOf(job, sizes, Fit::kFromScratch); },
      [&](const auto& sizes) { return LargestFitOf(job, sizes, Fit::kFromScratchAlone); },
      [&](const auto& sizes) { return LargestFitOf(job, sizes, Fit::kInPlaceAlone); });
}

void SetSize(const api::TrainingJob& job, const api::Gang* gang, const JobStep& step,
             const SizeDecision& resize, std::int64_t now_ms, api::TrainingJobStatus& status) {
  if (!job.elastic.enabled) {
    status.elastic = {};
    return;
  }
  api::ElasticStatus& elastic = status.elastic;
  const std::int64_t now_s_ms = now_ms / 1000 * 1000;  // the API server keeps whole seconds
  if (elastic.data != job.job.parallelism.data) elastic.data = job.job.parallelism.data;
  // All its pods end: none joins others any more.
  if ((step.recovery.suspended || (resize.target != 0 && !resize.in_place)) &&
      elastic.previous < elastic.data) {
    elastic.previous = 0;
  }
  if (resize.in_place) {
    elastic.previous = elastic.data;
    elastic.data = resize.target;
    elastic.changed_ms = now_s_ms;
    return;
  }
  if (elastic.previous > elastic.data && step.surplus == 0) elastic.previous = 0;
  if (elastic.previous != 0 && elastic.previous < elastic.data && step.all_ranks_run) {
    elastic.previous = 0;
  }
  if (resize.target != 0) {
    elastic.target = resize.target;
    elastic.changed_ms = now_s_ms;
  }
  const bool holds_hosts = gang != nullptr && gang->status.committed();
  // Rented hosts go, too: the next are of the next size.
  const bool rents = job.status.capacity.active();
  if (elastic.target != 0 && step.recovery.suspended && step.pods == 0 && !holds_hosts && !rents) {
    elastic = {elastic.target, 0, 0, now_s_ms};
  }
}

}  // namespace yardmaster::op
