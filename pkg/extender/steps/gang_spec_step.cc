#include "pkg/extender/steps/gang_spec_step.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

std::vector<NamespacedName> GangSpecStep::GangsToCompare(const PassFacts& facts,
                                                         const TrainingJobs& jobs,
                                                         std::vector<Work>& works) {
  std::map<NamespacedName, Compared> before;
  before.swap(compared_);
  std::vector<std::tuple<bool, std::int64_t, std::int64_t, std::int64_t, NamespacedName>> order;
  for (const auto& [key, gathered] : facts.gathered) {
    const GangPtr gang = facts.FindGang(key);
    if (gang != nullptr && gang->status.committed()) continue;
    if (facts.isolated.count(key) != 0 || gathered->members.empty()) continue;
    const auto at = before.find(key);
    const auto job = jobs.find(key);
    const JobPtr owner = job == jobs.end() ? nullptr : job->second;
    if (gang != nullptr && at != before.end() && at->second.pods == gathered &&
        at->second.job == owner) {
      compared_.insert(*at);
      if (!at->second.agrees) {
        works.push_back({key, [this, key = key](const PassFacts&) { return LeaveOut(key); }});
      }
      continue;
    }
    const bool was_due = at != before.end() && at->second.pods == nullptr;
    const std::int64_t since_ms = was_due ? at->second.since_ms : facts.now.steady_ms;
    const bool failed = was_due && at->second.failed;
    compared_[key] = {nullptr, owner, false, since_ms, failed};
    const api::Pod& pod = *gathered->members.front().pod;
    const std::int64_t own = owner == nullptr ? 0 : owner->job.priority;
    const std::int64_t priority = own != 0 ? own : pod.priority;
    order.emplace_back(failed, -priority, since_ms, pod.metadata.created_ms, key);
  }
  std::sort(order.begin(), order.end());
  std::vector<NamespacedName> keys;
  keys.reserve(order.size());
  for (auto& entry : order) keys.push_back(std::move(std::get<4>(entry)));
  return keys;
}

std::vector<Work> GangSpecStep::Plan(const PassFacts& facts) {
  owners_.Begin(facts);
  groups_.Begin(facts);
  TrainingJobs jobs;
  for (const auto& job : facts.cluster.jobs) {
    jobs[{job->metadata.namespace_name, api::GangName(api::kTrainingJobKind, job->metadata.name)}] =
        job;
  }
  std::vector<Work> works;
  for (NamespacedName& key : GangsToCompare(facts, jobs, works)) {
    const auto job = jobs.find(key);
    // A TrainingJob's pods without the TrainingJob are what the garbage collector has still to
    // take.
    const bool ours =
        facts.gathered.at(key)->members.front().membership->owner.kind == api::kTrainingJobKind;
    if (ours && (job == jobs.end() || job->second->metadata.deleted_ms)) {
      compared_.erase(key);
      continue;
    }
    Subject subject{key, ours ? job->second : nullptr};
    works.push_back({key, [this, subject](const PassFacts& now) { return Decide(now, subject); }});
  }
  return works;
}

Decision GangSpecStep::LeaveOut(const NamespacedName& key, std::vector<Effect> effects) const {
  effects.push_back(Change(GangMarked{key, GangMark::kLeftOut}));
  return {std::move(effects)};
}

Decision GangSpecStep::Decide(const PassFacts& facts, const Subject& subject) {
  return groups_.Ask(facts, subject.key,
                     [this, subject](const PassFacts& now, const GroupSays& says) {
                       return Make(now, subject, says);
                     });
}

Decision GangSpecStep::Make(const PassFacts& facts, const Subject& subject, const GroupSays& says) {
  const gather::GatheredGang pods = gather::WithOpenRanks(*facts.gathered.at(subject.key));
  gather::DeclaredSizes declared;
  declared.of_group = says.size;
  declared.why_no_group = says.why_not;
  auto made = gather::MakeGang(pods, subject.job.get(), declared);
  const bool whole = made.ok() && *made != std::nullopt;
  if (subject.job != nullptr || whole || pods.held_by_others != 0) {
    return Write(facts, subject, std::move(made));
  }
  return owners_.Ask(facts, subject.key, /*contradict=*/!made.ok(),
                     [this, subject, declared](const PassFacts& now, const OwnerSays& owner) {
                       return MakeAsOwnerSays(now, subject, declared, owner);
                     });
}

Decision GangSpecStep::MakeAsOwnerSays(const PassFacts& facts, const Subject& subject,
                                       gather::DeclaredSizes declared, const OwnerSays& says) {
  const NamespacedName& key = subject.key;
  const gather::GatheredGang& gathered = *facts.gathered.at(key);
  // The next pass gathers the gang with the replicas that have ended.
  if (says.ended && gatherer_.NoteEnded(gathered, *says.ended)) return LeaveOut(key, {WakeIn{0}});
  declared.of_owner = says.size;
  // The data axis follows the owner's size: that of the stages that have begun, or, of a gang that
  // is there already, the present one.
  declared.was_scaled =
      declared.of_owner.has_value() && (says.more_to_come || facts.gangs.count(key) != 0);
  return Write(facts, subject,
               gather::MakeGang(gather::WithOpenRanks(gathered), nullptr, declared));
}

Decision GangSpecStep::Write(const PassFacts& facts, const Subject& subject,
                             absl::StatusOr<std::optional<api::Gang>> made) {
  const NamespacedName& key = subject.key;
  const std::shared_ptr<const gather::GatheredGang> gathered = facts.gathered.at(key);
  if (!made.ok()) return LeaveOut(key, {ReportProblem{MessageOf(made.status())}});
  const GangPtr known = facts.FindGang(key);
  if (*made == std::nullopt) {
    // The next pass checks again whether the owner now wants fewer pods.
    compared_[key].pods = known == nullptr || subject.job == nullptr ? nullptr : gathered;
    return LeaveOut(key);
  }
  api::Gang next = **made;
  if (known != nullptr) {
    // As the API server gives it back, with every default written out.
    const auto wanted = api::DecodeGang(api::EncodeGang(next), api::Decoding::kLenient);
    if (!wanted.ok()) return LeaveOut(key, {ReportProblem{MessageOf(wanted.status())}});
    next = *known;
    next.job = wanted->job;
    next.constraints = wanted->constraints;
    next.requests = wanted->requests;
    next.roles = wanted->roles;
    next.rank_bases = wanted->rank_bases;
    // They are all there, and it has no place.
    next.pods = api::GangPods::kFirst;
    if (next == *known) {
      compared_[key].pods = gathered;
      compared_[key].agrees = true;
      return {};
    }
  }
  const std::int64_t priority = next.job.priority;
  Decision decision{{WriteGangSpec{key, std::move(next), gather::WithOpenRanks(*gathered)}}};
  if (known == nullptr) decision.effects.push_back(Increment{&PassReport::gangs_created});
  decision.then = [this, key, priority](const PassFacts& now, const EffectOutcomes& outcomes) {
    Compared& compared = compared_[key];
    if (outcomes.front().done()) {
      compared = {nullptr, compared.job, true, now.now.steady_ms, false};
      return Decision{};
    }
    // There was no time for it.
    if (outcomes.front().result == EffectOutcome::Result::kLeft) {
      return compared.failed ? LeaveOut(key) : LeaveOut(key, {Change(PriorityLeft{priority})});
    }
    compared.failed = true;
    compared.since_ms = now.now.steady_ms;
    return LeaveOut(key);
  };
  return decision;
}

}  // namespace yardmaster::extender
