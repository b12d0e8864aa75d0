#include "pkg/operator/jobs/move_terms.h"

#include <algorithm>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/operator/jobs/work_loss.h"

namespace yardmaster::op {

namespace {

const api::Condition* Running(const api::TrainingJob& job) {
  return api::FindCondition(job.status.conditions, "Running");
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

bool IsWithin(std::int64_t then_ms, std::int64_t now_ms, std::int64_t span_ms) {
  return then_ms > now_ms - span_ms && then_ms < now_ms + span_ms;
}

std::string WhyInterrupted(const api::TrainingJob& job) {
  const api::TrainingJobStatus& status = job.status;
  if (job.metadata.deleted_ms) return "the job is deleted";
  if (status.ended()) return "the job has ended";
  if (job.run.suspended || status.recovery.suspended) return "the job is suspended";
  if (status.queue.holds_job()) return "the job waits for quota";
  if (status.capacity.active()) return "its hosts are rented";
  if (status.elastic.target != 0 || status.elastic.previous != 0) {
    return "the job changes its size";
  }
  return status.recovery.active() != nullptr ? "the job is recovering" : "";
}

std::string WhyNotMovable(const api::TrainingJob& job, std::int64_t now_ms,
                          std::int64_t least_run_ms) {
  const api::RunPolicy& run = job.run;
  if (run.movable == api::Movable::kNever) return "spec.movable: is Never";
  if (!run.managed_by.empty() && run.managed_by != api::kManagedByOperator) {
    return StrCat("spec.managedBy: ", run.managed_by, " runs the job");
  }
  if (job.status.move.active()) return "the job moves already";
  std::string why = WhyInterrupted(job);
  if (!why.empty()) return why;
  const api::Condition* running = Running(job);
  if (now_ms == 0 && running == nullptr) return "";  // files say nothing of time
  if (running == nullptr || running->status != api::ConditionStatus::kTrue) {
    return "not all workers of the job run";
  }
  if (now_ms == 0) return "";
  if (now_ms - running->transition_ms < least_run_ms) {
    return StrCat("all workers of the job have run for less than ", least_run_ms / 1000, " s");
  }
  if (IsWithin(job.status.move.record.last_ms, now_ms, kMoveAgainMs)) {
    return "the job was asked to move less than an hour ago";
  }
  return "";
}

double PriceOfMove(const api::TrainingJob& job, std::int64_t now_ms) {
  const double gpus = static_cast<double>(job.job.workers) * job.job.gpus_per_worker;
  return gpus * (job.capacity.restart_seconds + WorkSinceCheckpoint(job, now_ms));
}

plan::MoveTerms MoveTermsOf(const api::TrainingJob& job, std::int64_t now_ms,
                            std::int64_t least_run_ms) {
  std::string why_not = WhyNotMovable(job, now_ms, least_run_ms);
  if (!why_not.empty()) return {false, 0, std::move(why_not)};
  return {true, job.capacity.restart_seconds + WorkSinceCheckpoint(job, now_ms)};
}

TermsByGang MoveTermsOf(const state::ObjectTable<api::TrainingJob>& jobs, std::int64_t now_ms,
                        std::int64_t least_run_ms) {
  TermsByGang terms;
  for (const auto& job : jobs) {
    terms[{job->metadata.namespace_name,
           api::GangName(api::kTrainingJobKind, job->metadata.name)}] =
        MoveTermsOf(*job, now_ms, least_run_ms);
  }
  return terms;
}

void Hold(const char* why, plan::MoveTerms& job) {
  if (job.movable) job = {false, 0, why};
}

void KeepFollowing(const state::ObjectTable<api::Gang>& gangs, TermsByGang& terms) {
  for (auto& [key, job] : terms) {
    const auto gang = gangs.Find(key);
    if (gang != nullptr && gang->pods != api::GangPods::kFollow) {
      Hold("its pods come before their place, and stay there", job);
    }
  }
}

std::vector<plan::MoveTerms> TermsInOrder(const TermsByGang& terms,
                                          const plan::Snapshot& snapshot) {
  std::vector<plan::MoveTerms> in_order;
  for (const plan::JobState& state : snapshot.jobs) {
    const auto at = terms.find(state.job.key);
    in_order.push_back(
        at != terms.end()
            ? at->second
            : plan::MoveTerms{false, 0, "it is of no TrainingJob, and its owner restarts it"});
  }
  return in_order;
}

}  // namespace yardmaster::op
