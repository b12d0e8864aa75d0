#include "pkg/extender/steps/stale_release_step.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::extender {

namespace {

// The host that api/pin_patch.h has written: the last field of every term.
std::string PinOf(const api::Pod& pod) {
  if (pod.constraints.terms.empty() || pod.constraints.terms.front().fields.empty()) return "";
  const api::SelectorRequirement& field = pod.constraints.terms.front().fields.back();
  const bool one = field.op == api::SelectorOperator::kIn && field.values.size() == 1;
  return one && field.key == "metadata.name" ? field.values.front() : "";
}

// Null: the rank has no slot now.
const std::string* SlotHost(const api::Gang& gang, int rank) {
  const auto& slots = gang.status.assignments;
  const bool has_slot = HoldsHosts(gang.status) && static_cast<std::size_t>(rank) < slots.size();
  return has_slot ? &slots[static_cast<std::size_t>(rank)].host : nullptr;
}

}  // namespace

std::optional<std::string> ReleasedTo(const api::Pod& pod) {
  if (!pod.scheduling_gates.empty() || !pod.selected_host().empty()) return std::nullopt;
  if (!api::Find(pod.metadata.annotations, api::kSlotAnnotation)) return std::nullopt;
  std::string host = pod.node_name.empty() ? PinOf(pod) : pod.node_name;
  return host.empty() ? std::nullopt : std::optional(std::move(host));
}

std::vector<Work> StaleReleaseStep::Plan(const PassFacts& facts) {
  std::map<NamespacedName, Checked> before;
  before.swap(in_place_);
  std::vector<Work> works;
  for (const auto& [key, gathered] : facts.gathered) {
    if (gathered->gated == static_cast<int>(gathered->members.size())) continue;
    const auto gang = facts.gangs.find(key);
    if (gang == facts.gangs.end() || gang->second->status.plan_generation == 0) continue;
    if (IsFinished(gang->second->status) || facts.indeterminate.count(key) != 0) continue;
    if (facts.IsStopping(key) || facts.isolated.count(key) != 0) continue;
    const auto checked = before.find(key);
    const Checked now{gathered, gang->second};
    if (checked != before.end() && checked->second == now) {
      in_place_.insert(before.extract(checked));
      continue;
    }
    works.push_back(
        {key, [this, key = key, now](const PassFacts& facts) { return Decide(facts, key, now); }});
  }
  std::erase_if(refused_,
                [&](const auto& entry) { return facts.gathered.count(entry.first) == 0; });
  return works;
}

std::vector<StaleReleaseStep::Stale> StaleReleaseStep::StalePods(const Checked& checked) const {
  std::vector<Stale> stale;
  for (const gather::GangMember& member : checked.pods->members) {
    if (!member.rank || *member.rank < 0) continue;
    if (member.pod->metadata.controller() == nullptr) continue;
    std::optional<std::string> host = ReleasedTo(*member.pod);
    if (!host) continue;
    const std::string* slot = SlotHost(*checked.gang, *member.rank);
    if (slot != nullptr && *slot == *host) continue;
    stale.push_back({member.pod, *member.rank, *std::move(host)});
  }
  const auto last = refused_.find(KeyOf(checked.gang->metadata));
  if (last == refused_.end()) return stale;
  const auto at = std::find_if(stale.begin(), stale.end(), [&](const Stale& entry) {
    return entry.pod->metadata.uid == last->second;
  });
  if (at != stale.end()) std::rotate(stale.begin(), std::next(at), stale.end());
  return stale;
}

std::size_t StaleReleaseStep::BoundLeft(std::int64_t now_ms) {
  while (!evicted_ms_.empty() && now_ms - evicted_ms_.front() >= options_.window_ms) {
    evicted_ms_.pop_front();
  }
  return options_.max_bound - std::min(options_.max_bound, evicted_ms_.size());
}

Decision StaleReleaseStep::Decide(const PassFacts& facts, const NamespacedName& key,
                                  const Checked& checked) {
  Decision decision;
  decision.threads = 1;
  std::vector<Stale> evicted;
  std::size_t bound_left = BoundLeft(facts.now.steady_ms);
  std::vector<Stale> stale = StalePods(checked);
  if (stale.empty()) in_place_.emplace(key, checked);
  for (Stale& entry : stale) {
    const bool bound = !entry.pod->node_name.empty();
    if (bound && bound_left == 0) {
      if (!evicted_ms_.empty()) {
        decision.effects.push_back(
            WakeIn{evicted_ms_.front() + options_.window_ms - facts.now.steady_ms});
      }
      decision.effects.push_back(ReportProblem{StrCat(
          "Pod ", KeyOf(entry.pod->metadata).text(), ": it runs on another host than its Gang ",
          "says, and ", options_.max_bound, " such pods were replaced in the last ",
          options_.window_ms / 60'000, " min; it is left alone for now: compare the Gang's ",
          "status.assignments with where its pods run")});
      continue;
    }
    bound_left -= bound ? 1 : 0;
    evicted.push_back(std::move(entry));
  }
  // After the others, so that outcomes and pods have the same order from the end.
  for (const Stale& entry : evicted) {
    decision.effects.push_back(
        EvictPod{EvictionsOf(key), entry.pod, EvictWhen::kSamePod, &PassReport::recalled_pods});
  }
  if (evicted.empty()) return decision;
  decision.then = [this, key, gang = checked.gang, evicted](const PassFacts& facts,
                                                            const EffectOutcomes& outcomes) {
    return Report(facts, key, *gang, evicted, outcomes);
  };
  return decision;
}

Decision StaleReleaseStep::Report(const PassFacts& facts, const NamespacedName& key,
                                  const api::Gang& gang, const std::vector<Stale>& evicted,
                                  const EffectOutcomes& outcomes) {
  Decision decision;
  for (std::size_t i = 0; i < evicted.size(); ++i) {
    const EffectOutcome& outcome = outcomes[outcomes.size() - evicted.size() + i];
    const api::ObjectMeta& pod = evicted[i].pod->metadata;
    if (outcome.result == EffectOutcome::Result::kFailed && !kube::IsGone(outcome.status)) {
      refused_[key] = pod.uid;
    }
    if (!outcome.done()) continue;
    if (!evicted[i].pod->node_name.empty()) evicted_ms_.push_back(facts.now.steady_ms);
    const std::string* slot = SlotHost(gang, evicted[i].rank);
    const std::string now = slot != nullptr
                                ? StrCat("rank ", evicted[i].rank, " belongs on ", *slot, " now")
                                : StrCat("gang ", gang.metadata.name, " has no place now");
    decision.effects.push_back(Event{
        {"v1", "Pod", pod.name, pod.uid, false},
        pod.namespace_name,
        true,
        "ReleasedTooLate",
        StrCat("it was released for ", evicted[i].host, ", and ", now, "; the pod is replaced")});
  }
  return decision;
}

}  // namespace yardmaster::extender
