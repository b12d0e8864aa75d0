#include "pkg/operator/jobs/move_terms.h"

#include <algorithm>

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/operator/jobs/work_loss.h"

namespace yardmaster::op {

namespace {

const api::Condition* Running(const api::TrainingJob& job) {
  return api::FindCondition(job.status.conditions, "Running");
}

bool MayMove(const api::TrainingJob& job, std::int64_t now_ms) {
  const api::RunPolicy& run = job.run;
  const bool is_ours = run.managed_by.empty() || run.managed_by == api::kManagedByOperator;
  if (run.movable == api::Movable::kNever || run.suspended || !is_ours || job.status.ended() ||
      job.metadata.deleted_ms) {
    return false;
  }
  const api::Condition* running = Running(job);
  if (running == nullptr) return now_ms == 0;  // files say nothing of time
  return running->status == api::ConditionStatus::kTrue &&
         (now_ms == 0 || now_ms - running->transition_ms >= kLeastRunMs);
}

double IntervalSeconds(const api::TrainingJob& job) {
  if (job.checkpoint.interval_seconds > 0) return job.checkpoint.interval_seconds;
  if (job.status.checkpoint.interval_seconds > 0) return job.status.checkpoint.interval_seconds;
  return OptimalInterval(std::max(1.0, job.checkpoint_seconds()),
                         MeanSecondsBetweenIncidents(job.job.workers, 0, 0));
}

double WorkSinceCheckpoint(const api::TrainingJob& job, std::int64_t now_ms) {
  const api::Condition* running = Running(job);
  const double interval = IntervalSeconds(job);
  if (now_ms == 0 || running == nullptr) return interval / 2;
  const auto seconds_since = [&](std::int64_t then_ms) {
    return static_cast<double>(std::max<std::int64_t>(0, now_ms - then_ms)) / 1000;
  };
  const std::int64_t last_ms = job.status.checkpoint.last_ms;
  if (last_ms >= running->transition_ms) return seconds_since(last_ms);
  return std::min(seconds_since(running->transition_ms), interval) / 2;
}

}  // namespace

plan::MoveTerms MoveTermsOf(const api::TrainingJob& job, std::int64_t now_ms) {
  if (!MayMove(job, now_ms)) return {};
  return {true, job.capacity.restart_seconds + WorkSinceCheckpoint(job, now_ms)};
}

TermsByGang MoveTermsOf(const state::ObjectTable<api::TrainingJob>& jobs, std::int64_t now_ms) {
  TermsByGang terms;
  for (const auto& job : jobs) {
    terms[{job->metadata.namespace_name,
           api::GangName(api::kTrainingJobKind, job->metadata.name)}] = MoveTermsOf(*job, now_ms);
  }
  return terms;
}

std::vector<plan::MoveTerms> TermsInOrder(const TermsByGang& terms,
                                          const plan::Snapshot& snapshot) {
  std::vector<plan::MoveTerms> in_order;
  for (const plan::JobState& state : snapshot.jobs) {
    const auto at = terms.find(state.job.key);
    in_order.push_back(at == terms.end() ? plan::MoveTerms{} : at->second);
  }
  return in_order;
}

}  // namespace yardmaster::op
