#include "pkg/extender/steps/preemption_step.h"

#include <algorithm>
#include <utility>

#include "pkg/base/mutex.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/gather/gatherer.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/steps/adoption.h"
#include "pkg/extender/steps/eviction.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::extender {

namespace {

// The victim as the ledger has it while it still holds its hosts; null once it is gone or was made
// anew.
const api::Gang* Holding(const PassState& pass, const api::VictimReference& victim) {
  const auto at = pass.gangs.find({victim.namespace_name, victim.name});
  if (at == pass.gangs.end() || at->second->metadata.uid != victim.uid) return nullptr;
  return HoldsHosts(at->second->status) ? at->second.get() : nullptr;
}

bool WaitsInFull(const PassState& pass, const api::Gang& gang) {
  const GatheredGang* gathered = pass.GatheredOf(KeyOf(gang.metadata));
  if (gathered == nullptr || IsFinished(gang.status)) return false;
  return gang.status.committed() || IsComplete(*gathered, gang.job.workers);
}

// Of a gang that is not planned in this pass, for example because its Gang does not say yet what its pods say.
bool MayBePlannedLater(const PassState& pass, const api::Gang& gang) {
  if (!WaitsInFull(pass, gang)) return false;
  const GatheredGang& gathered = *pass.GatheredOf(KeyOf(gang.metadata));
  return gathered.held_by_others == 0 && !AnyBound(gathered) && !NamesHosts(gathered);
}

// The other 429: the API server is busy.
bool IsBudgetsAnswer(const absl::Status& status) {
  return absl::IsResourceExhausted(status) &&
         status.message().find("disruption budget") != absl::string_view::npos;
}

std::string NameOf(const api::Gang& gang) {
  return StrCat(gang.owner.kind, " ", gang.metadata.namespace_name, "/", gang.owner.name);
}

}  // namespace

void PreemptionStep::CarryOn(PassState& pass) {
  std::vector<NamespacedName> keys;
  for (const auto& [key, gang] : pass.gangs) {
    if (gang->status.preemption) keys.push_back(key);
  }
  for (const NamespacedName& key : keys) {
    if (pass.quarantined.count(key) != 0) continue;
    pass.handling = key;
    CarryOnOne(pass, key);
  }
  pass.handling.reset();
  ForgetOldVictims(pass);
}

void PreemptionStep::CarryOnOne(PassState& pass, const NamespacedName& key) {
  const std::shared_ptr<const api::Gang> winner = pass.gangs.at(key);
  if (!WaitsInFull(pass, *winner)) {
    return GiveUp(pass, key, "NoLongerWaiting", "the gang no longer waits with all its pods");
  }
  std::vector<NamespacedName> holding;
  std::vector<PodPtr> evict;
  const std::vector<api::VictimReference>& victims = winner->status.preemption->victims;
  const auto broken = std::find_if(victims.begin(), victims.end(), [&](const auto& victim) {
    return Holding(pass, victim) != nullptr &&
           pass.quarantined.count({victim.namespace_name, victim.name}) != 0;
  });
  if (broken != victims.end()) {
    return GiveUp(pass, key, "PlaceLost",
                  StrCat("Gang ", broken->namespace_name, "/", broken->name,
                         ", which would make room, is in quarantine"));
  }
  for (const api::VictimReference& victim : victims) {
    if (Holding(pass, victim) == nullptr) continue;
    holding.push_back({victim.namespace_name, victim.name});
    pass.stopping.insert(holding.back());
    const std::vector<PodPtr> pods = Evictable(pass.GatheredOf(holding.back()));
    evict.insert(evict.end(), pods.begin(), pods.end());
  }
  if (holding.empty()) {
    pass.cleared.insert(key);
    return;
  }
  if (IsTooLate(pass, *winner->status.preemption)) {
    for (const NamespacedName& victim : holding) pass.stopping.erase(victim);
    return GiveUp(pass, key, "VictimsDidNotEnd",
                  StrCat("pods of Gang ", holding.front().text(), " have not ended in time"));
  }
  for (const NamespacedName& victim : holding) {
    if (!Tell(pass, victim, *winner)) return;
  }
  if (!evict.empty()) {
    // All or none: what a budget forbids now is not begun.
    const auto* budgets = budgets_.Read(pass.report);
    if (budgets == nullptr) return;
    std::string refused = WhyNotEvictable(*budgets, evict);
    if (refused.empty()) refused = Evict(pass, evict);
    if (refused.empty()) return;
    for (const NamespacedName& victim : holding) pass.stopping.erase(victim);
    return GiveUp(pass, key, "EvictionRefused", refused);
  }
  bool cleared = true;
  for (const NamespacedName& victim : holding) {
    const GatheredGang* gathered = pass.GatheredOf(victim);
    Evict(pass, WithMoreGrace(gathered, clock_.WallMs(), max_grace_ms_), max_grace_ms_);
    cleared &= (gathered == nullptr || NoneCanRun(*gathered)) && AllGone(pass, victim) &&
               TakeHosts(pass, victim, *winner);
  }
  if (cleared) pass.cleared.insert(key);
}

bool PreemptionStep::IsTooLate(PassState& pass, const api::PreemptionStatus& preemption) const {
  constexpr std::int64_t kSlackMs = 120'000;
  const std::int64_t left_ms = preemption.started_ms + max_grace_ms_ + kSlackMs - clock_.WallMs();
  if (left_ms > 0) pass.WakeIn(left_ms);
  return left_ms <= 0;
}

bool PreemptionStep::Tell(PassState& pass, const NamespacedName& key, const api::Gang& winner) {
  const std::shared_ptr<const api::Gang> victim = pass.gangs.at(key);
  if (api::IsTrue(victim->status.conditions, api::kPreemptedCondition)) return true;
  const std::string why =
      winner.status.committed()
          ? StrCat("gives lent backup hosts back to ", NameOf(winner))
          : StrCat("makes room for ", NameOf(winner), " of priority ", winner.job.priority);
  const std::string text =
      StrCat(why, "; its ", Count(victim->job.workers, "pod"),
             " are asked to write a checkpoint and to end within their grace period");
  api::GangStatus status = victim->status;
  SetCondition(status, *victim, api::kPreemptedCondition, true, "Stopping", text, clock_.WallMs());
  if (!ledger_.Write(pass, *victim, status)) return false;
  notify_({victim->owner, victim->metadata.namespace_name, true, "Preempted", text});
  return true;
}

std::string PreemptionStep::Evict(PassState& pass, const std::vector<PodPtr>& pods,
                                  std::optional<std::int64_t> grace_ms) {
  Mutex mutex;
  std::string refused;
  ParallelFor(pods.size(), eviction_threads_, [&](std::size_t i) {
    {
      MutexLock lock(mutex);
      if (!refused.empty() || !ledger_.may_write()) return;
    }
    const absl::Status evicted =
        EvictPod(client_, pods[i]->metadata, EvictWhen::kSamePod, grace_ms);
    MutexLock lock(mutex);
    if (evicted.ok()) {
      ++pass.report.evicted_pods;
    } else if (IsBudgetsAnswer(evicted)) {
      refused = MessageOf(evicted);
    } else if (!kube::IsGone(evicted)) {
      pass.report.errors.push_back(MessageOf(evicted));
    }
  });
  return refused;
}

// Asks the API server itself: the watch may still show a pod gated that the leader before released.
bool PreemptionStep::AllGone(PassState& pass, const NamespacedName& key) {
  Gatherer gatherer(Orphans::kRefuse);
  const absl::Status listed = kube::ReadAll(
      client_, {kube::Pods(), key.namespace_name, "", ""},
      [&] { gatherer = Gatherer(Orphans::kRefuse); },
      [&](JsonView object) {
        auto pod = api::DecodePod(object, api::Decoding::kLenient);
        if (pod.ok()) gatherer.Add(std::make_shared<const api::Pod>(*std::move(pod)));
      });
  if (!listed.ok()) {
    pass.report.errors.push_back(MessageOf(listed));
    return false;
  }
  const auto gangs =
      gatherer.Gangs([](const GatheredGang&) -> const api::Gang* { return nullptr; });
  return std::all_of(gangs.begin(), gangs.end(),
                     [&](const auto& gang) { return gang->name != key.name || NoneCanRun(*gang); });
}

bool PreemptionStep::TakeHosts(PassState& pass, const NamespacedName& key,
                               const api::Gang& winner) {
  const std::shared_ptr<const api::Gang> victim = pass.gangs.at(key);
  const std::string why = StrCat("made room for ", NameOf(winner), " and waits for a place again");
  api::GangStatus status = GivenBack(*victim, "Preempted", why, clock_.WallMs());
  SetCondition(status, *victim, api::kPreemptedCondition, true, "Stopped", why, clock_.WallMs());
  if (!ledger_.Write(pass, *victim, status)) return false;
  pass.stopping.erase(key);
  return true;
}

// Gangs that hold their hosts and are no longer a victim.
void PreemptionStep::ForgetOldVictims(PassState& pass) {
  std::vector<NamespacedName> keys;
  for (const auto& [key, gang] : pass.gangs) {
    const bool marked = api::IsTrue(gang->status.conditions, api::kPreemptedCondition);
    if (marked && gang->status.committed() && pass.stopping.count(key) == 0) keys.push_back(key);
  }
  for (const NamespacedName& key : keys) {
    const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
    api::GangStatus status = gang->status;
    SetCondition(status, *gang, api::kPreemptedCondition, false, "PreemptionCancelled",
                 "it is not stopped after all", clock_.WallMs());
    ledger_.Write(pass, *gang, status);
  }
}

void PreemptionStep::GiveUp(PassState& pass, const NamespacedName& key, const std::string& reason,
                            const std::string& message) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  if (!gang->status.preemption) return;
  api::GangStatus status = gang->status;
  status.preemption.reset();
  SetCondition(status, *gang, api::kPreemptingCondition, false, reason, message, clock_.WallMs());
  if (!ledger_.Write(pass, *gang, status)) return;
  ++pass.report.preemptions_given_up;
  notify_({gang->owner, gang->metadata.namespace_name, true, "PreemptionGivenUp", message});
}

void PreemptionStep::KeepHosts(PassState& pass) {
  plan::Snapshot& snapshot = *pass.snapshot;
  for (const auto& [key, gang] : pass.gangs) {
    if (!gang->status.preemption) continue;
    const plan::JobId id = IdOfJob(snapshot, key);
    if (!id.valid() && !MayBePlannedLater(pass, *gang)) continue;
    for (const std::string& name : gang->status.preemption->hosts) {
      const fabric::HostId host = snapshot.places->FindHost(name);
      if (!host.valid()) continue;
      placement::HostState& state = snapshot.cluster.hosts[host.index()];
      if (id.valid()) {
        state.reserved_for = id.value;
      } else {
        state.free_gpus = 0;
      }
    }
  }
}

}  // namespace yardmaster::extender
