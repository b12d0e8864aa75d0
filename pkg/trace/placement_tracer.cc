#include "pkg/trace/placement_tracer.h"

#include <optional>
#include <utility>

namespace yardmaster::trace {

namespace {

bool HasPlaceOf(const api::Gang* before, const api::Gang& gang) {
  return before != nullptr && before->metadata.uid == gang.metadata.uid &&
         before->status.committed() && before->status.committed_ms == gang.status.committed_ms;
}

// Since when a rank's host is lost; 0: none is.
std::int64_t LostSince(const api::Gang& gang) {
  const api::Condition* degraded =
      api::FindCondition(gang.status.conditions, api::kDegradedCondition);
  const bool is = degraded != nullptr && degraded->status == api::ConditionStatus::kTrue;
  return is ? degraded->transition_ms : 0;
}

}  // namespace

const api::TrainingJob* JobOf(const api::Gang& gang, const state::ClusterState& state) {
  if (gang.owner.kind != api::kTrainingJobKind) return nullptr;
  const auto job = state.jobs.Find({gang.metadata.namespace_name, gang.owner.name});
  return job != nullptr && job->metadata.uid == gang.owner.uid ? job.get() : nullptr;
}

std::int64_t WaitedSince(const api::Gang& gang, const api::TrainingJob* job,
                         std::int64_t known_ms) {
  if (known_ms > 0) return known_ms;
  // Of a later place only who saw the gang wait knows it.
  const bool first = gang.status.plan_generation == 1;
  if (!first) return 0;
  return job == nullptr ? gang.metadata.created_ms : job->metadata.created_ms;
}

void PlacementTracer::Note(const api::Gang* before, const api::Gang& gang,
                           const state::ClusterState& state, const PassTimes& pass,
                           std::vector<Span>& out) {
  const api::TrainingJob* job = JobOf(gang, state);
  if (!gang.status.committed()) {
    since_[gang.metadata.uid] = QueuedSince(gang, job);
    return;
  }
  if (!HasPlaceOf(before, gang)) {
    const auto noted = since_.find(gang.metadata.uid);
    const std::int64_t since_ms = WaitedSince(gang, job, noted == since_.end() ? 0 : noted->second);
    if (noted != since_.end()) since_.erase(noted);
    if (!looked_ && gang.status.committed_ms < pass.ended_ms - kRepeatMs) return;
    const auto of_pass = looked_ ? std::optional(pass) : std::nullopt;
    for (Span& span : PlacementSpans(gang, since_ms, of_pass)) out.push_back(std::move(span));
    return;
  }
  // Of TrainingJobs the operator knows more: its incidents.
  const std::int64_t lost_ms = LostSince(*before);
  if (job != nullptr || lost_ms == 0 || LostSince(gang) != 0) return;
  const api::Condition* whole = api::FindCondition(gang.status.conditions, api::kDegradedCondition);
  out.push_back(LostHostSpan(gang, lost_ms, whole == nullptr ? lost_ms : whole->transition_ms));
}

std::vector<Span> PlacementTracer::Look(const state::ClusterState& state, const PassTimes& pass) {
  std::vector<Span> out;
  state::ObjectTable<api::Gang>::Differences(
      gangs_, state.gangs, [&](const auto& before, const auto& after) {
        // Made again under its name, it is another one.
        if (before != nullptr &&
            (after == nullptr || after->metadata.uid != before->metadata.uid)) {
          since_.erase(before->metadata.uid);
        }
        if (after != nullptr) Note(before.get(), *after, state, pass, out);
      });
  gangs_ = state.gangs;
  looked_ = true;
  return out;
}

}  // namespace yardmaster::trace
