#include "pkg/extender/steps/network_wait.h"

#include <algorithm>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

bool OnOneHost(const api::GangStatus& status) {
  return std::all_of(status.assignments.begin(), status.assignments.end(), [&](const auto& slot) {
    return slot.host == status.assignments.front().host;
  });
}

// Pods without the network plan of the gang's present places.
int MissingPlans(const std::vector<PodPtr>& pods, std::int64_t plan_generation) {
  const std::string wanted = StrCat(plan_generation);
  return static_cast<int>(std::count_if(pods.begin(), pods.end(), [&](const PodPtr& pod) {
    const auto said = api::Find(pod->metadata.annotations, api::kNetworkGenerationAnnotation);
    return !said || *said != wanted;
  }));
}

}  // namespace

bool NetworkWait::Hold(const PassFacts& facts, const api::Gang& gang, int missing,
                       const Waiting& before, std::vector<Effect>& effects) {
  const NamespacedName key = KeyOf(gang.metadata);
  const std::int64_t now_ms = facts.now.steady_ms;
  Waiting now{gang.metadata.uid, gang.status.plan_generation, now_ms, missing, false};
  if (before.uid == now.uid && before.plan_generation == now.plan_generation) {
    if (missing >= before.missing || before.late) now.since_ms = before.since_ms;
    now.late = before.late;
  }
  const std::int64_t left_ms = now.since_ms + limit_ms_ - now_ms;
  if (left_ms > 0) {
    effects.push_back(WakeIn{left_ms});
  } else if (!now.late) {
    now.late = true;
    effects.push_back(Increment{&PassReport::late_networks});
    effects.push_back(
        Event{gang.owner, key.namespace_name, true, "NetworkPlanLate",
              StrCat("no network plan on ", Count(missing, "pod"), " after ", limit_ms_ / 1000,
                     " s; released without: their traffic takes default paths ",
                     "and classes until the operator writes it")});
  }
  waiting_[key] = std::move(now);
  return left_ms > 0;
}

std::set<NamespacedName> NetworkWait::Held(const PassFacts& facts, const PodsOfGangs& pods,
                                           std::vector<Effect>& effects) {
  std::set<NamespacedName> held;
  std::map<NamespacedName, Waiting> before;
  before.swap(waiting_);
  if (limit_ms_ <= 0 || facts.snapshot->network == nullptr) return held;
  for (const auto& [key, of_gang] : pods) {
    const api::Gang& gang = *facts.gangs.at(key);
    if (OnOneHost(gang.status)) continue;
    const int missing = MissingPlans(of_gang, gang.status.plan_generation);
    if (missing == 0) continue;
    const auto at = before.find(key);
    const Waiting& known = at == before.end() ? Waiting() : at->second;
    if (Hold(facts, gang, missing, known, effects)) held.insert(key);
  }
  return held;
}

}  // namespace yardmaster::extender
