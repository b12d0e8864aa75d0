#include "pkg/extender/steps/gang_cleanup.h"

#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/gather/owner_state.h"

namespace yardmaster::extender {

namespace {

constexpr std::int64_t kEmptyMs = 60'000;

bool IsCollected(const api::Gang& gang) {
  return !gang.metadata.owners.empty() && gather::ResourceOfOwner(gang.owner).has_value();
}

bool HasAnyPod(const gather::GatheredGang* gathered) {
  return gathered != nullptr && (!gathered->members.empty() || !gathered->leaving.empty() ||
                                 !gathered->strays.empty() || gathered->finished > 0);
}

// Of a Gang that has been empty for long enough.
Decision DeleteIfOwnerIsGone(const NamespacedName& key, const GangPtr& gang) {
  const auto resource = gather::ResourceOfOwner(gang->owner);
  if (!resource) return {{AwaitTurn{key, Question::kOwnerGone}, DeleteGang{key, gang}}};
  Decision decision{{AwaitTurn{key, Question::kOwnerGone},
                     ReadObject{{*resource, key.namespace_name, gang->owner.name, ""}}}};
  decision.then = [key, gang](const PassFacts&, const EffectOutcomes& outcomes) -> Decision {
    if (!outcomes.front().done()) return {};
    const EffectOutcome& owner = outcomes.back();
    if (!owner.done() && !absl::IsNotFound(owner.status)) {
      return {{ReportProblem{StrCat("Gang ", key.text(),
                                    ": it is empty, and whether its owner is gone is ",
                                    "not known: ", MessageOf(owner.status))}}};
    }
    const bool gone = !owner.done() ||
                      gather::OwnerStateOf(*gang, owner.object).phase == gather::OwnerPhase::kGone;
    return gone ? Decision{{DeleteGang{key, gang}}} : Decision{};
  };
  return decision;
}

}  // namespace

std::vector<Work> GangCleanup::Plan(const PassFacts& facts) {
  const std::int64_t now_ms = facts.now.steady_ms;
  std::map<NamespacedName, std::int64_t> before;
  before.swap(empty_since_ms_);
  std::vector<Work> works;
  for (const auto& [key, gang] : facts.gangs) {
    if (HoldsHosts(gang->status) || HasAnyPod(facts.GatheredOf(key))) continue;
    if (IsCollected(*gang) || gang->metadata.deleted_ms) continue;
    const auto known = before.find(key);
    const std::int64_t since_ms = known == before.end() ? now_ms : known->second;
    empty_since_ms_.emplace(key, since_ms);
    const std::int64_t left_ms = since_ms + kEmptyMs - now_ms;
    works.push_back({key, [key = key, gang = gang, left_ms](const PassFacts&) {
                       return left_ms > 0 ? Decision{{WakeIn{left_ms}}}
                                          : DeleteIfOwnerIsGone(key, gang);
                     }});
  }
  return works;
}

}  // namespace yardmaster::extender
