#include "pkg/trace/start_tracer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "pkg/api/rank_resolver.h"
#include "pkg/trace/job_spans.h"
#include "pkg/trace/placement_tracer.h"

namespace yardmaster::trace {

namespace {

std::optional<NamespacedName> GangOf(const api::Pod& pod) {
  if (!api::WantsGang(pod)) return std::nullopt;
  const auto member = api::ResolveMembership(pod);
  if (!member.ok() || !*member) return std::nullopt;
  return NamespacedName{pod.metadata.namespace_name, (*member)->gang_name};
}

// When its pods were let go first; 0: not yet.
std::int64_t ReleasedMs(const api::Gang& gang) {
  const api::Condition* released =
      api::FindCondition(gang.status.conditions, api::kReleasedCondition);
  const bool is = released != nullptr && released->status == api::ConditionStatus::kTrue;
  return is ? released->transition_ms : 0;
}

bool IsOver(const api::TrainingJob* job, std::int64_t attempt) {
  if (job == nullptr) return false;
  const auto& incidents = job->status.recovery.incidents;
  return std::any_of(incidents.begin(), incidents.end(), [&](const api::Incident& incident) {
    return incident.attempt == attempt && incident.end_ms != 0;
  });
}

}  // namespace

void StartTracer::NotePods(const state::ObjectTable<api::Pod>& pods,
                           std::set<NamespacedName>& changed) {
  state::ObjectTable<api::Pod>::Differences(
      pods_, pods, [&](const auto& before, const auto& after) {
        const auto was = before == nullptr ? std::nullopt : GangOf(*before);
        const auto is = after == nullptr ? std::nullopt : GangOf(*after);
        if (was) changed.insert(*was);
        if (is) changed.insert(*is);
        if (was && was != is) {
          const auto of = pods_of_.find(*was);
          if (of != pods_of_.end()) {
            of->second.erase(before->metadata.name);
            if (of->second.empty()) pods_of_.erase(of);
          }
        }
        if (is) pods_of_[*is][after->metadata.name] = after;
      });
  pods_ = pods;
}

std::vector<const api::Pod*> StartTracer::PodsOf(const api::Gang& gang) const {
  std::vector<const api::Pod*> out;
  const auto of = pods_of_.find(KeyOf(gang.metadata));
  if (of == pods_of_.end()) return out;
  for (const auto& [name, pod] : of->second) {
    if (pod->metadata.deleted_ms) continue;
    const auto member = api::ResolveMembership(*pod);
    if (!member.ok() || !*member) continue;
    if (api::IsOfOwner(gang, (*member)->owner.uid, (*member)->root.uid)) out.push_back(pod.get());
  }
  return out;
}

bool StartTracer::JobChanged(const api::Gang& gang, const state::ClusterState& state) const {
  const NamespacedNameView owner{gang.metadata.namespace_name, gang.owner.name};
  return jobs_.Find(owner) != state.jobs.Find(owner);
}

bool StartTracer::CanBeTold(const api::Gang& gang, std::int64_t now_ms) const {
  constexpr std::int64_t kTickMs = 1'000;  // of the API server's times
  const std::int64_t released_ms = ReleasedMs(gang);
  if (released_ms == 0) return true;
  if (released_ms < now_ms - kRepeatMs) return false;
  const auto pods = PodsOf(gang);
  return std::none_of(pods.begin(), pods.end(), [&](const api::Pod* pod) {
    return pod->metadata.created_ms > released_ms + kTickMs;
  });
}

void StartTracer::NoteGang(const api::Gang& gang, const state::ClusterState& state) {
  Followed& followed = followed_[gang.metadata.uid];
  followed.key = KeyOf(gang.metadata);
  const api::TrainingJob* job = JobOf(gang, state);
  if (!gang.status.committed()) {
    followed = {followed.key, 0, QueuedSince(gang, job), false, {}};
    return;
  }
  if (followed.committed_ms == gang.status.committed_ms) return;
  // Of another place that it had before this process does not know when it gave that back.
  const std::int64_t known_ms = followed.committed_ms == 0 ? followed.since_ms : 0;
  followed = {followed.key, gang.status.committed_ms, WaitedSince(gang, job, known_ms), true, {}};
}

void StartTracer::Recoveries(const state::ClusterState& state, std::int64_t after_ms,
                             std::vector<Span>& out) {
  state::ObjectTable<api::TrainingJob>::Differences(
      jobs_, state.jobs, [&](const auto& before, const auto& job) {
        if (job == nullptr) return;
        for (const api::Incident& incident : job->status.recovery.incidents) {
          const bool is_new = incident.end_ms != 0 && !IsOver(before.get(), incident.attempt);
          if (is_new && incident.end_ms >= after_ms) {
            out.push_back(RecoverySpan(*job, incident, name_of_));
          }
        }
      });
  jobs_ = state.jobs;
}

std::vector<Span> StartTracer::Look(const state::ClusterState& state, std::int64_t now_ms) {
  std::vector<Span> out;
  std::set<NamespacedName> changed;
  NotePods(state.pods, changed);
  state::ObjectTable<api::Gang>::Differences(
      gangs_, state.gangs, [&](const auto& before, const auto& after) {
        if (before != nullptr &&
            (after == nullptr || after->metadata.uid != before->metadata.uid)) {
          followed_.erase(before->metadata.uid);
        }
        if (after == nullptr) return;
        changed.insert(KeyOf(after->metadata));
        NoteGang(*after, state);
        if (!looked_ && after->status.committed() && !CanBeTold(*after, now_ms)) {
          followed_[after->metadata.uid].starts = false;
        }
      });
  gangs_ = state.gangs;
  const std::int64_t after_ms = looked_ ? 0 : now_ms - kRepeatMs;
  computed_ = 0;
  for (auto& [uid, followed] : followed_) {
    if (!followed.starts) continue;
    const auto gang = gangs_.Find({followed.key.namespace_name, followed.key.name});
    if (gang == nullptr) continue;
    if (changed.count(followed.key) == 0 && !JobChanged(*gang, state)) continue;
    ++computed_;
    for (Span& span : StartSpans({*gang, JobOf(*gang, state), PodsOf(*gang), followed.since_ms})) {
      const bool is_new = followed.given.insert(span.id).second;
      if (IsStart(span)) followed.starts = false;
      if (is_new && span.end_ms >= after_ms) out.push_back(std::move(span));
    }
    if (!followed.starts) followed.given.clear();
  }
  Recoveries(state, after_ms, out);
  looked_ = true;
  return out;
}

}  // namespace yardmaster::trace
