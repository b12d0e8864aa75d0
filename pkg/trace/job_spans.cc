#include "pkg/trace/job_spans.h"

#include <algorithm>
#include <string>
#include <utility>

namespace yardmaster::trace {

namespace {

using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

Attributes NameOf(const std::string& kind, const api::ObjectMeta& metadata,
                  const std::string& name) {
  return {{"k8s.namespace.name", metadata.namespace_name},
          {"yardmaster.job.kind", kind},
          {"yardmaster.job.name", name}};
}

// The second of its commit distinguishes the place from others of the gang.
std::int64_t KeyOf(const api::Gang& gang) { return gang.status.committed_ms / 1000; }

// A step of the gang's present place.
Span StepOf(const api::Gang& gang, const char* name, std::int64_t start_ms, std::int64_t end_ms) {
  const std::string& uid = TracedUid(gang);
  Span span;
  span.trace_id = TraceIdOf(uid);
  span.id = SpanIdOf(uid, name, KeyOf(gang));
  span.parent_id = SpanIdOf(uid, "start", KeyOf(gang));
  span.name = name;
  span.start_ms = std::min(start_ms, end_ms);
  span.end_ms = end_ms;
  span.attributes = NameOf(gang.owner.kind, gang.metadata, gang.owner.name);
  return span;
}

void AddPriority(const api::Gang& gang, Span& span) {
  span.attributes.emplace_back("yardmaster.priority", std::int64_t{gang.job.priority});
}

void AddSize(const api::Gang& gang, Span& span) {
  span.attributes.emplace_back("yardmaster.workers", std::int64_t{gang.placed_workers()});
  span.attributes.emplace_back("yardmaster.gpus_per_worker",
                               std::int64_t{gang.job.gpus_per_worker});
}

// The earliest and the latest of a time of the pods; nothing: one of them has none.
struct Range {
  std::int64_t first_ms;
  std::int64_t last_ms;
};
std::optional<Range> RangeOf(const std::vector<const api::Pod*>& pods,
                             std::int64_t (*time_of)(const api::Pod&)) {
  std::optional<Range> range;
  for (const api::Pod* pod : pods) {
    const std::int64_t time_ms = time_of(*pod);
    if (time_ms == 0) return std::nullopt;
    if (!range) range = Range{time_ms, time_ms};
    range->first_ms = std::min(range->first_ms, time_ms);
    range->last_ms = std::max(range->last_ms, time_ms);
  }
  return range;
}

}  // namespace

const std::string& TracedUid(const api::Gang& gang) {
  if (!gang.owner.uid.empty()) return gang.owner.uid;
  const auto& owners = gang.metadata.owners;
  return owners.empty() || owners.front().uid.empty() ? gang.metadata.uid : owners.front().uid;
}

std::int64_t QueuedSince(const api::Gang& gang, const api::TrainingJob* job) {
  const api::GangStatus& status = gang.status;
  std::int64_t since_ms = job == nullptr ? gang.metadata.created_ms : job->metadata.created_ms;
  const auto not_before = [&](const char* type, api::ConditionStatus is) {
    const api::Condition* found = api::FindCondition(status.conditions, type);
    if (found != nullptr && found->status == is)
      since_ms = std::max(since_ms, found->transition_ms);
  };
  not_before(api::kRequeuedCondition, api::ConditionStatus::kTrue);
  // It has had hosts, and gave them back then.
  if (status.plan_generation > 0) {
    not_before(api::kPlannedCondition, api::ConditionStatus::kFalse);
  }
  return since_ms;
}

std::vector<Span> PlacementSpans(const api::Gang& gang, std::int64_t since_ms,
                                 const std::optional<PassTimes>& pass) {
  std::vector<Span> spans;
  std::int64_t placed_ms = gang.status.committed_ms;
  if (pass)
    placed_ms = std::clamp(placed_ms, pass->began_ms, std::max(pass->began_ms, pass->ended_ms));
  if (since_ms > 0) {
    spans.push_back(StepOf(gang, "queued", since_ms, pass ? pass->began_ms : placed_ms));
    AddPriority(gang, spans.back());
  }
  if (pass) spans.push_back(StepOf(gang, "planned", pass->began_ms, pass->ended_ms));
  spans.push_back(StepOf(gang, "committed", placed_ms, placed_ms));
  AddSize(gang, spans.back());
  spans.back().attributes.emplace_back("yardmaster.segments", gang.status.objective.segments);
  spans.back().attributes.emplace_back("yardmaster.fabric_pods", gang.status.objective.fabric_pods);
  return spans;
}

Span LostHostSpan(const api::Gang& gang, std::int64_t lost_ms, std::int64_t whole_ms) {
  const std::string& uid = TracedUid(gang);
  Span span;
  span.trace_id = TraceIdOf(uid);
  span.id = SpanIdOf(uid, "recovery of hosts", lost_ms / 1000);
  span.name = "recovery";
  span.start_ms = std::min(lost_ms, whole_ms);
  span.end_ms = whole_ms;
  span.attributes = NameOf(gang.owner.kind, gang.metadata, gang.owner.name);
  span.attributes.emplace_back("yardmaster.cause", std::string("HostLost"));
  return span;
}

std::vector<Span> StartSpans(const StartFacts& facts) {
  const api::Gang& gang = facts.gang;
  const std::int64_t placed_ms = gang.status.committed_ms;
  std::vector<Span> spans;
  const api::Condition* network =
      api::FindCondition(gang.status.conditions, api::kNetworkPlannedCondition);
  if (network != nullptr && network->status == api::ConditionStatus::kTrue &&
      network->transition_ms >= placed_ms) {
    spans.push_back(StepOf(gang, "network planned", placed_ms, network->transition_ms));
  }
  const std::vector<const api::Pod*>& pods = facts.pods;
  std::int64_t runs_ms = 0;
  if (!pods.empty() && static_cast<int>(pods.size()) >= gang.placed_workers()) {
    const auto created = RangeOf(pods, [](const api::Pod& pod) { return pod.metadata.created_ms; });
    const auto bound = RangeOf(pods, [](const api::Pod& pod) { return pod.scheduled_ms; });
    const auto began = RangeOf(pods, [](const api::Pod& pod) { return pod.started_ms; });
    if (created) spans.push_back(StepOf(gang, "pods created", created->first_ms, created->last_ms));
    if (created && bound) {
      spans.push_back(StepOf(gang, "bound", std::max(placed_ms, created->last_ms), bound->last_ms));
    }
    if (bound && began) {
      spans.push_back(StepOf(gang, "running", bound->last_ms, began->last_ms));
      runs_ms = began->last_ms;
    }
  }
  // The operator writes when all workers of a TrainingJob ran first; pods may have been replaced
  // since.
  if (facts.job != nullptr && facts.job->status.start_ms >= placed_ms) {
    runs_ms = facts.job->status.start_ms;
  }
  if (runs_ms >= placed_ms && runs_ms > 0) {
    Span start = StepOf(gang, "start", facts.since_ms > 0 ? facts.since_ms : placed_ms, runs_ms);
    start.parent_id = 0;
    AddSize(gang, start);
    AddPriority(gang, start);
    spans.push_back(std::move(start));
  }
  return spans;
}

Span RecoverySpan(const api::TrainingJob& job, const api::Incident& incident,
                  const char* (*name_of)(api::IncidentCause)) {
  Span span;
  span.trace_id = TraceIdOf(job.metadata.uid);
  span.id = SpanIdOf(job.metadata.uid, "recovery", incident.attempt);
  span.name = "recovery";
  span.start_ms = std::min(incident.start_ms, incident.end_ms);
  span.end_ms = incident.end_ms;
  span.attributes = NameOf(api::kTrainingJobKind, job.metadata, job.metadata.name);
  span.attributes.emplace_back("yardmaster.cause", std::string(name_of(incident.cause)));
  span.attributes.emplace_back("yardmaster.attempt", incident.attempt);
  if (!incident.host.empty()) span.attributes.emplace_back("yardmaster.host", incident.host);
  span.failed = incident.action == api::OnHostLoss::kFail;
  return span;
}

}  // namespace yardmaster::trace
