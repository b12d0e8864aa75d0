#include "pkg/extender/steps/preemption_step.h"

#include <algorithm>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/facts/placed_first.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/gather/disruption_budgets.h"
#include "pkg/gather/gatherer.h"
#include "pkg/gather/leaving_pods.h"

namespace yardmaster::extender {

namespace {

// Beyond the longest grace, until victims that are still there end a decision.
constexpr std::int64_t kEndSlackMs = 120'000;

bool WaitsInFull(const PassFacts& facts, const api::Gang& gang) {
  const gather::GatheredGang* gathered = facts.GatheredOf(KeyOf(gang.metadata));
  if (IsFinished(gang.status)) return false;
  if (MayBePlacedFirst(facts, gang)) return true;
  if (gathered == nullptr) return false;
  return gang.status.committed() || gather::IsComplete(*gathered, gang.job.workers);
}

std::vector<GangPtr> HoldingVictims(const PassFacts& facts, const api::Gang& winner) {
  std::vector<GangPtr> holding;
  for (const api::VictimReference& victim : winner.status.preemption->victims) {
    if (GangPtr gang = HoldingVictim(facts.gangs, victim)) holding.push_back(std::move(gang));
  }
  return holding;
}

std::vector<gather::PodPtr> EvictablePods(const PassFacts& facts,
                                          const std::vector<GangPtr>& gangs) {
  std::vector<gather::PodPtr> pods;
  for (const GangPtr& gang : gangs) {
    const std::vector<gather::PodPtr> theirs =
        gather::Evictable(facts.GatheredOf(KeyOf(gang->metadata)));
    pods.insert(pods.end(), theirs.begin(), theirs.end());
  }
  return pods;
}

// The other 429: the API server is busy.
bool IsBudgetsAnswer(const absl::Status& status) {
  return absl::IsResourceExhausted(status) &&
         status.message().find("disruption budget") != absl::string_view::npos;
}

std::string NameOf(const api::Gang& gang) {
  return StrCat(gang.owner.kind, " ", gang.metadata.namespace_name, "/", gang.owner.name);
}

// The victim's condition, and an event, once.
void ReportStopping(const PassFacts& facts, const GangPtr& victim, const api::Gang& winner,
                    std::vector<Effect>& effects) {
  if (api::IsTrue(victim->status.conditions, api::kPreemptedCondition)) return;
  const NamespacedName key = KeyOf(victim->metadata);
  const std::string why =
      winner.status.committed()
          ? StrCat("gives lent backup hosts back to ", NameOf(winner))
          : StrCat("makes room for ", NameOf(winner), " of priority ", winner.job.priority);
  const std::string text =
      StrCat(why, "; its ", Count(victim->job.workers, "pod"),
             " are asked to write a checkpoint and to end within their grace period");
  api::GangStatus status = victim->status;
  SetCondition(status, *victim, api::kPreemptedCondition, true, "Stopping", text,
               facts.now.wall_ms);
  effects.push_back(CommitGangStatus{key, victim, std::move(status)});
  effects.push_back(Event{victim->owner, key.namespace_name, true, "Preempted", text});
}

// All or none: what a budget forbids now is not begun.
Decision Evict(const PassFacts& facts, const NamespacedName& winner,
               const std::vector<gather::PodPtr>& pods, std::size_t threads) {
  if (!facts.budgets) return {};
  const std::string forbidden = gather::WhyNotEvictable(*facts.budgets, pods);
  if (!forbidden.empty()) return GiveUpPreemption(facts, winner, "EvictionRefused", forbidden);
  Decision decision;
  decision.threads = threads;
  decision.max_failures = 1;
  for (const gather::PodPtr& pod : pods) {
    decision.effects.push_back(EvictPod{EvictionsOf(winner), pod});
  }
  decision.then = [winner](const PassFacts& now, const EffectOutcomes& outcomes) {
    const auto refused =
        std::find_if(outcomes.begin(), outcomes.end(),
                     [](const EffectOutcome& outcome) { return IsBudgetsAnswer(outcome.status); });
    return refused == outcomes.end()
               ? Decision{}
               : GiveUpPreemption(now, winner, "EvictionRefused", MessageOf(refused->status));
  };
  return decision;
}

// Pods that are being deleted with a longer grace period than a preemption waits for.
Decision ShortenGrace(const PassFacts& facts, const NamespacedName& winner,
                      const std::vector<GangPtr>& victims, const EvictionOptions& options) {
  Decision decision;
  decision.threads = options.threads;
  for (const GangPtr& victim : victims) {
    for (gather::PodPtr& pod : gather::WithMoreGrace(facts.GatheredOf(KeyOf(victim->metadata)),
                                                     facts.now.wall_ms, options.max_grace_ms)) {
      decision.effects.push_back(EvictPod{EvictionsOf(winner), std::move(pod), EvictWhen::kSamePod,
                                          &PassReport::evicted_pods, options.max_grace_ms});
    }
  }
  return decision;
}

Decision StopVictimsOf(const PassFacts& facts, const NamespacedName& key,
                       const EvictionOptions& options) {
  const GangPtr winner = facts.gangs.at(key);
  if (!WaitsInFull(facts, *winner)) {
    return GiveUpPreemption(facts, key, "NoLongerWaiting",
                            "the gang no longer waits with all its pods");
  }
  Decision decision;
  const std::vector<GangPtr> holding = HoldingVictims(facts, *winner);
  for (const GangPtr& victim : holding) {
    if (facts.isolated.count(KeyOf(victim->metadata)) != 0) {
      return GiveUpPreemption(facts, key, "PlaceLost",
                              StrCat("Gang ", KeyOf(victim->metadata).text(),
                                     ", which would make room, is in quarantine"));
    }
    ReportStopping(facts, victim, *winner, decision.effects);
  }
  if (holding.empty()) return decision;
  const std::int64_t left_ms = winner->status.preemption->started_ms + options.max_grace_ms +
                               kEndSlackMs - facts.now.wall_ms;
  if (left_ms <= 0) {
    return GiveUpPreemption(facts, key, "VictimsDidNotEnd",
                            StrCat("pods of Gang ", KeyOf(holding.front()->metadata).text(),
                                   " have not ended in time"));
  }
  decision.effects.insert(decision.effects.begin(), WakeIn{left_ms});
  std::vector<gather::PodPtr> pods = EvictablePods(facts, holding);
  if (pods.empty()) {
    return AndThen(std::move(decision), [key, holding, options](const PassFacts& now) {
      return ShortenGrace(now, key, holding, options);
    });
  }
  decision.effects.push_back(ReadBudgets{});
  decision.then = [key, options, pods = std::move(pods)](const PassFacts& now,
                                                         const EffectOutcomes& outcomes) {
    return AllDone(outcomes) ? Evict(now, key, pods, options.threads) : Decision{};
  };
  return decision;
}

Decision ReleaseVictimHosts(const PassFacts& facts, const NamespacedName& key,
                            const NamespacedName& winner) {
  const GangPtr victim = facts.gangs.at(key);
  const std::string why =
      StrCat("made room for ", NameOf(*facts.gangs.at(winner)), " and waits for a place again");
  api::GangStatus status = GivenBack(*victim, "Preempted", why, facts.now.wall_ms);
  SetCondition(status, *victim, api::kPreemptedCondition, true, "Stopped", why, facts.now.wall_ms);
  return {{CommitGangStatus{key, victim, std::move(status)}}};
}

}  // namespace

std::vector<Work> StopVictims(const PassFacts& facts, const EvictionOptions& options) {
  std::vector<Work> works;
  for (const auto& [key, gang] : facts.gangs) {
    if (!gang->status.preemption || facts.isolated.count(key) != 0) continue;
    works.push_back({key, [key = key, options](const PassFacts& now) {
                       return StopVictimsOf(now, key, options);
                     }});
  }
  return works;
}

std::vector<Work> TakeHostsOfVictims(const PassFacts& facts) {
  std::vector<Work> works;
  for (const auto& [key, winner] : facts.victims) {
    const GangPtr victim = facts.gangs.at(key);
    const gather::GatheredGang* gathered = facts.GatheredOf(key);
    const bool told = api::IsTrue(victim->status.conditions, api::kPreemptedCondition);
    if (!told || (gathered != nullptr && !gather::NoneCanRun(*gathered))) continue;
    const std::vector<GangPtr> all = HoldingVictims(facts, *facts.gangs.at(winner));
    if (!EvictablePods(facts, all).empty()) continue;
    works.push_back({key, [key = key, winner = winner](const PassFacts&) {
                       Decision decision{{ReadPods{key.namespace_name}}};
                       decision.then = [key, winner](const PassFacts& now,
                                                     const EffectOutcomes& read) {
                         const EffectOutcome& pods = read.front();
                         const bool gone = pods.done() && gather::NoneOfItCanRun(key, pods.pods);
                         return gone ? ReleaseVictimHosts(now, key, winner) : Decision{};
                       };
                       return decision;
                     }});
  }
  return works;
}

std::vector<Work> EndCancelledPreemptions(const PassFacts& facts) {
  std::vector<Work> works;
  for (const auto& [key, gang] : facts.gangs) {
    const bool marked = api::IsTrue(gang->status.conditions, api::kPreemptedCondition);
    if (!marked || !gang->status.committed() || facts.IsStopping(key)) continue;
    works.push_back({key, [key = key, gang = gang](const PassFacts& now) -> Decision {
                       api::GangStatus status = gang->status;
                       SetCondition(status, *gang, api::kPreemptedCondition, false,
                                    "PreemptionCancelled", "it is not stopped after all",
                                    now.now.wall_ms);
                       return {{CommitGangStatus{key, gang, std::move(status)}}};
                     }});
  }
  return works;
}

Decision GiveUpPreemption(const PassFacts& facts, const NamespacedName& key,
                          const std::string& reason, const std::string& message) {
  const GangPtr gang = facts.gangs.at(key);
  if (!gang->status.preemption) return {};
  api::GangStatus status = gang->status;
  status.preemption.reset();
  SetCondition(status, *gang, api::kPreemptingCondition, false, reason, message, facts.now.wall_ms);
  return {{CommitGangStatus{key, gang, std::move(status)},
           Increment{&PassReport::preemptions_given_up},
           Event{gang->owner, key.namespace_name, true, "PreemptionGivenUp", message}}};
}

bool IsCleared(const PassFacts& facts, const api::Gang& winner) {
  return HoldingVictims(facts, winner).empty();
}

}  // namespace yardmaster::extender
