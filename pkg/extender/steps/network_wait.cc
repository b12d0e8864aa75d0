#include "pkg/extender/steps/network_wait.h"

#include <algorithm>

#include "pkg/api/network_generation.h"
#include "pkg/base/strings.h"
#include "pkg/state/release_rule.h"

namespace yardmaster::extender {

namespace {

// Whether the pod carries the network plan of the gang's places under that plan.
bool HasPlan(const api::Pod& pod, const std::string& plan_generation) {
  const auto said = api::Find(pod.metadata.annotations, api::kNetworkGenerationAnnotation);
  return said && *said == plan_generation;
}

// Of the gang, released ones included.
int PlannedPods(const PassFacts& facts, const NamespacedName& gang, std::int64_t plan_generation) {
  const gather::GatheredGang* gathered = facts.GatheredOf(gang);
  if (gathered == nullptr) return 0;
  const std::string wanted = StrCat(plan_generation);
  return static_cast<int>(std::count_if(
      gathered->members.begin(), gathered->members.end(),
      [&](const gather::GangMember& member) { return HasPlan(*member.pod, wanted); }));
}

}  // namespace

std::map<NamespacedName, NetworkWait::Waiting> NetworkWait::TakeStock(const PassFacts& facts,
                                                                      const PodsOfGangs& pods) {
  std::map<NamespacedName, Waiting> waiting;
  for (const auto& [key, of_gang] : pods) {
    const api::Gang& gang = *facts.gangs.at(key);
    if (!state::SpansHosts(gang.status)) continue;
    Waiting now{gang.metadata.uid, gang.status.plan_generation};
    const auto at = waiting_.find(key);
    const bool is_new = at == waiting_.end() || at->second.uid != now.uid ||
                        at->second.plan_generation != now.plan_generation;
    if (!is_new) now = at->second;
    const std::string wanted = StrCat(gang.status.plan_generation);
    now.missing = static_cast<int>(
        std::count_if(of_gang.begin(), of_gang.end(),
                      [&](const gather::PodPtr& pod) { return !HasPlan(*pod, wanted); }));
    const int planned = PlannedPods(facts, key, gang.status.plan_generation);
    // Pods that were released before the gang began to wait are no progress.
    if (is_new) now.planned = planned - (static_cast<int>(of_gang.size()) - now.missing);
    if (planned > now.planned) {
      written_ += planned - now.planned;
      now.planned = planned;
      if (!now.late) now.since_ms = facts.now.steady_ms;
    }
    if (now.missing > 0) waiting.emplace(key, std::move(now));
  }
  // Gangs whose last pods the operator has released.
  for (const auto& [key, before] : waiting_) {
    if (pods.count(key) != 0) continue;
    written_ += std::max(0, PlannedPods(facts, key, before.plan_generation) - before.planned);
  }
  return waiting;
}

bool NetworkWait::IsHeld(const PassFacts& facts, const api::Gang& gang, Waiting& waiting,
                         std::vector<Effect>& effects) const {
  const std::int64_t left_ms = waiting.since_ms + limit_ms_ - facts.now.steady_ms;
  if (left_ms > 0) {
    effects.push_back(WakeIn{left_ms});
  } else if (!waiting.late) {
    waiting.late = true;
    effects.push_back(Increment{&PassReport::late_networks});
    effects.push_back(
        Event{gang.owner, gang.metadata.namespace_name, true, "NetworkPlanLate",
              StrCat("no network plan on ", Count(waiting.missing, "pod"), " after ",
                     limit_ms_ / 1000, " s; released without: their traffic takes default paths ",
                     "and classes until the operator writes it")});
  }
  return left_ms > 0;
}

std::set<NamespacedName> NetworkWait::Held(const PassFacts& facts, const PodsOfGangs& pods,
                                           std::vector<Effect>& effects) {
  std::set<NamespacedName> held;
  if (limit_ms_ <= 0 || facts.snapshot->network == nullptr) {
    waiting_.clear();
    return held;
  }
  const std::int64_t written_before = written_;
  waiting_ = TakeStock(facts, pods);
  std::int64_t missing = 0;
  for (const auto& [key, waiting] : waiting_) missing += waiting.missing;
  for (auto& [key, waiting] : waiting_) {
    const bool is_new = waiting.turn == 0;
    if (is_new) waiting.turn = written_ + missing;
    const bool others_progressed = written_ > written_before && written_ <= waiting.turn;
    if (is_new || (others_progressed && !waiting.late)) waiting.since_ms = facts.now.steady_ms;
    if (IsHeld(facts, *facts.gangs.at(key), waiting, effects)) held.insert(key);
  }
  return held;
}

}  // namespace yardmaster::extender
