#include "pkg/extender/steps/gate_step.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/gather/leaving_pods.h"

namespace yardmaster::extender {

namespace {

constexpr std::int64_t kMaxTimeoutSeconds = 366 * 86'400;

// A gang that has run in full for so long since its placement is marked so.
constexpr std::int64_t kSettledMs = 60'000;
// kube-scheduler may not have looked at a released pod that is younger.
constexpr std::int64_t kYoungMs = 30'000;

// When the last of its pods was made: no wait is counted before the set was there.
std::int64_t WaitsSince(const gather::GatheredGang& gathered) {
  std::int64_t since_ms = 0;
  for (const gather::GangMember& member : gathered.members) {
    since_ms = std::max(since_ms, member.pod->metadata.created_ms);
  }
  return since_ms;
}

// Every rank that has a host is bound or has ended; pods that the gang grows by may still wait.
bool RunsInFull(const gather::GatheredGang* gathered, int placed) {
  if (gathered == nullptr) return false;
  // Every pass asks this of every gang that was placed a short time ago.
  if (gathered->unbound == 0 && gathered->whole == placed) return true;
  const int wanted = placed - static_cast<int>(gathered->ended.size());
  if (static_cast<int>(gathered->members.size()) - gathered->unbound < wanted) return false;
  const auto bound = std::count_if(
      gathered->members.begin(), gathered->members.end(), [&](const gather::GangMember& member) {
        return member.rank && *member.rank < placed && !member.pod->node_name.empty();
      });
  return bound == wanted;
}

// No pod of it is on a node, and kube-scheduler has looked at each that is released.
bool NoneWasBound(const gather::GatheredGang* gathered, std::int64_t now_ms) {
  if (gathered == nullptr || gathered->members.empty() || gather::AnyBound(*gathered)) return false;
  const auto on_node = [](const gather::GangMember& member) {
    return !member.pod->node_name.empty();
  };
  const auto is_young = [now_ms](const gather::GangMember& member) {
    return !member.pod->gated() && now_ms - member.pod->metadata.created_ms < kYoungMs;
  };
  return std::none_of(gathered->leaving.begin(), gathered->leaving.end(), on_node) &&
         std::none_of(gathered->strays.begin(), gathered->strays.end(), on_node) &&
         std::none_of(gathered->members.begin(), gathered->members.end(), is_young);
}

// Gated pods of the gang, failed or released as they are.
std::vector<Effect> EndWaitOfEach(const gather::GatheredGang& gathered, GateTimeoutAction action,
                                  const std::string& why) {
  const NamespacedName key{gathered.namespace_name, gathered.name};
  std::vector<Effect> effects;
  for (const gather::GangMember& member : gathered.members) {
    if (!member.pod->gated()) continue;
    if (action == GateTimeoutAction::kFail) {
      effects.push_back(FailPod{key, member.pod, "GateTimeout", why});
    } else {
      effects.push_back(OpenGate{key, member.pod, why});
    }
  }
  return effects;
}

Decision MarkRunning(const PassFacts& facts, const std::shared_ptr<const api::Gang>& gang) {
  api::GangStatus status = gang->status;
  SetCondition(status, *gang, api::kRunningCondition, true, "AllBound",
               "every pod has been bound since the gang was placed", facts.now.wall_ms);
  return {{CommitGangStatus{KeyOf(gang->metadata), gang, std::move(status)}}};
}

Decision GiveHostsBack(const PassFacts& facts, const GangPtr& gang, const std::string& why) {
  const NamespacedName key = KeyOf(gang->metadata);
  api::GangStatus status = GivenBack(*gang, "NotReadyInTime", why, facts.now.wall_ms);
  // Set again, so that its transition says when the gang went to the back of the queue.
  std::erase_if(status.conditions, [](const api::Condition& condition) {
    return condition.type == api::kRequeuedCondition;
  });
  SetCondition(status, *gang, api::kRequeuedCondition, true, "NotReadyInTime", why,
               facts.now.wall_ms);
  return {{CommitGangStatus{key, gang, std::move(status)}, Increment{&PassReport::given_back},
           Event{gang->owner, key.namespace_name, true, "NotReadyInTime",
                 why + "; its hosts are free, and it queues behind the others"}}};
}

}  // namespace

std::vector<Work> GateStep::ReleaseIdlePods(const PassFacts& facts) {
  std::vector<Work> works;
  for (const gather::PodPtr& pod : facts.idle_pods) {
    // Refused writes of such a pod back off as a gang's do.
    const NamespacedName key{pod->metadata.namespace_name, "pod " + pod->metadata.name};
    works.push_back({key, [key, pod](const PassFacts&) {
                       return Decision{{OpenGate{key, pod, "it asks for no GPU"}}};
                     }});
  }
  return works;
}

GateStep::Options GateStep::LimitsOf(const gather::GatheredGang* gathered,
                                     std::vector<Effect>& effects) const {
  Options limits = options_;
  if (gathered == nullptr || gathered->members.empty()) return limits;
  const api::ObjectMeta& pod = gathered->members.front().pod->metadata;
  const auto report = [&](const char* key, std::string_view text, const char* fix) {
    effects.push_back(ReportProblem{StrCat("Pod ", KeyOf(pod).text(), ": metadata.annotations[\"",
                                           key, "\"]: \"", text, "\" is not used; ", fix)});
  };
  const auto milliseconds = [&](const char* key, std::int64_t least,
                                const char* fix) -> std::optional<std::int64_t> {
    const auto text = api::Find(pod.annotations, key);
    if (!text) return std::nullopt;
    const auto number = ParseNumber<std::int64_t>(*text);
    if (number && *number >= least && *number <= kMaxTimeoutSeconds) return *number * 1000;
    report(key, *text, fix);
    return std::nullopt;
  };
  if (const auto ms = milliseconds(api::kGateTimeoutAnnotation, 0,
                                   "write whole seconds, at most a year; 0: no limit")) {
    limits.gate_timeout_ms = *ms;
  }
  if (const auto text = api::Find(pod.annotations, api::kGateTimeoutActionAnnotation)) {
    if (*text == "Release" || *text == "Fail") {
      limits.gate_action = *text == "Fail" ? GateTimeoutAction::kFail : GateTimeoutAction::kRelease;
    } else {
      report(api::kGateTimeoutActionAnnotation, *text, "write Release or Fail");
    }
  }
  // No limit would be longer than the process's.
  const auto ready_ms =
      milliseconds(api::kReadyTimeoutAnnotation, 1, "write whole seconds from 1 to a year");
  if (ready_ms) {
    limits.ready_timeout_ms =
        options_.ready_timeout_ms > 0 ? std::min(options_.ready_timeout_ms, *ready_ms) : *ready_ms;
  }
  return limits;
}

std::vector<Work> GateStep::EndWaits(const PassFacts& facts) const {
  std::vector<Work> works;
  for (const auto& [key, gathered] : facts.gathered) {
    const auto gang = facts.gangs.find(key);
    if (gang != facts.gangs.end() && HoldsHosts(gang->second->status)) continue;
    if (facts.backing_off.count(key) != 0) continue;
    // Waiting for a controller of others is not waiting for us.
    if (gathered->gated == 0 || gathered->held_by_others != 0) continue;
    works.push_back(
        {key, [this, pods = gathered](const PassFacts& now) { return EndWait(now, *pods); }});
  }
  return works;
}

Decision GateStep::EndWait(const PassFacts& facts, const gather::GatheredGang& gathered) const {
  const NamespacedName key{gathered.namespace_name, gathered.name};
  Decision decision;
  const Options limits = LimitsOf(&gathered, decision.effects);
  if (limits.gate_timeout_ms == 0) return decision;
  const std::int64_t waited_ms = facts.now.wall_ms - WaitsSince(gathered);
  if (waited_ms < limits.gate_timeout_ms) {
    decision.effects.push_back(WakeIn{limits.gate_timeout_ms - waited_ms});
    return decision;
  }
  std::string why = StrCat("gang ", gathered.name, " had no place for ", waited_ms / 1000, " s");
  if (const auto gang = facts.gangs.find(key); gang != facts.gangs.end()) {
    const auto* planned =
        api::FindCondition(gang->second->status.conditions, api::kPlannedCondition);
    if (planned != nullptr) why += ": " + planned->message;
  }
  decision.threads = 1;
  decision.effects.push_back(
      Change(GangMarked{key, GangMark::kLeftOut}));  // it would be placed in part
  std::vector<Effect> ends = EndWaitOfEach(gathered, limits.gate_action, why);
  decision.effects.insert(decision.effects.end(), ends.begin(), ends.end());
  const bool fail = limits.gate_action == GateTimeoutAction::kFail;
  Decision said{
      {Increment{&PassReport::gate_timeouts},
       Event{gathered.members.front().membership->owner, key.namespace_name, true, "GateTimeout",
             StrCat(why, fail ? "; its pods were failed"
                              : "; its pods go to the scheduler as they are")}}};
  decision.then = [said = std::move(said), pods = static_cast<std::ptrdiff_t>(ends.size())](
                      const PassFacts&, const EffectOutcomes& outcomes) {
    const auto first = outcomes.end() - pods;
    const bool all = std::all_of(first, outcomes.end(), [](const EffectOutcome& outcome) {
      return outcome.done() || outcome.result == EffectOutcome::Result::kFailed;
    });
    const bool any = std::any_of(first, outcomes.end(), [](const auto& o) { return o.done(); });
    return all && any ? said : Decision{};
  };
  return decision;
}

std::vector<Work> GateStep::CheckReady(const PassFacts& facts) const {
  std::vector<Work> works;
  for (const auto& [key, gang] : facts.gangs) {
    if (!HoldsHosts(gang->status) || facts.isolated.count(key) != 0) continue;
    if (facts.backing_off.count(key) != 0) continue;
    if (api::IsTrue(gang->status.conditions, api::kRunningCondition)) continue;
    works.push_back(
        {key, [this, key = key](const PassFacts& now) { return CheckReady(now, key); }});
  }
  return works;
}

Decision GateStep::CheckReady(const PassFacts& facts, const NamespacedName& key) const {
  const GangPtr gang = facts.gangs.at(key);
  const gather::GatheredGang* gathered = facts.GatheredOf(key);
  const std::int64_t now_ms = facts.now.wall_ms;
  const std::int64_t waited_ms = now_ms - gang->status.committed_ms;
  Decision decision;
  const std::int64_t ready_ms = LimitsOf(gathered, decision.effects).ready_timeout_ms;
  if (RunsInFull(gathered, gang->placed_workers())) {
    // Without a limit of its own that is written when a gang has shown that it stays.
    if (ready_ms == 0 && waited_ms < kSettledMs) return {{WakeIn{kSettledMs - waited_ms}}};
    return AndThen(std::move(decision),
                   [gang](const PassFacts& now) { return MarkRunning(now, gang); });
  }
  const std::int64_t unbound_ms = options_.unbound_timeout_ms;
  std::string why;
  if (ready_ms > 0 && waited_ms >= ready_ms) {
    why = StrCat("the gang did not run in full within ", ready_ms / 1000, " s of its placement");
  } else if (unbound_ms > 0 && waited_ms >= unbound_ms && NoneWasBound(gathered, now_ms)) {
    why = StrCat("no pod of the gang was bound within ", unbound_ms / 1000, " s of its placement");
  }
  if (why.empty()) {
    for (const std::int64_t limit_ms : {ready_ms, unbound_ms, waited_ms + kYoungMs}) {
      if (limit_ms > waited_ms) decision.effects.push_back(WakeIn{limit_ms - waited_ms});
    }
    return decision;
  }
  return AndThen(std::move(decision),
                 [this, gang, why](const PassFacts& now) { return Stop(now, gang, why); });
}

// Evicts its pods, and gives the hosts back once none can run any more.
Decision GateStep::Stop(const PassFacts& facts, const GangPtr& gang, const std::string& why) const {
  const NamespacedName key = KeyOf(gang->metadata);
  const gather::GatheredGang* gathered = facts.GatheredOf(key);
  Decision decision{{Change(GangMarked{key, GangMark::kStopping})}};
  decision.threads = 1;
  for (gather::PodPtr& pod : gather::Evictable(gathered)) {
    decision.effects.push_back(EvictPod{key, std::move(pod)});
  }
  if (decision.effects.size() > 1) return decision;
  if (gathered == nullptr || gather::NoneCanRun(*gathered)) {
    return AndThen(std::move(decision),
                   [gang, why](const PassFacts& now) { return GiveHostsBack(now, gang, why); });
  }
  for (gather::PodPtr& pod :
       gather::WithMoreGrace(gathered, facts.now.wall_ms, options_.max_grace_ms)) {
    decision.effects.push_back(EvictPod{key, std::move(pod), EvictWhen::kSamePod,
                                        &PassReport::evicted_pods, options_.max_grace_ms});
  }
  return decision;
}

}  // namespace yardmaster::extender
