#include "pkg/extender/steps/owner_step.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/api/suspended_wait.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/facts/placed_first.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/gather/owner_state.h"
#include "pkg/gather/pods_gone.h"
#include "pkg/gather/pods_to_come.h"

namespace yardmaster::extender {

namespace {

bool HasPods(const gather::GatheredGang* gathered) {
  return gathered != nullptr && (!gathered->members.empty() || !gathered->leaving.empty());
}

// Pods of the gang went to the scheduler as they are, as kubectl yardmaster release lets them: they
// are in no gang any more, and no host is needed for them.
bool WereReleased(const PassFacts& facts, const api::Gang& gang) {
  const auto is_one = [&](const gather::PodPtr& pod) {
    const api::ObjectMeta& meta = pod->metadata;
    if (meta.namespace_name != gang.metadata.namespace_name || pod->finished()) return false;
    if (!api::Find(meta.annotations, api::kReleasedAnnotation) || meta.controller() == nullptr) {
      return false;
    }
    const auto membership = api::ResolveMembership(*pod);
    if (!membership.ok() || !*membership) return false;
    const api::Membership& member = **membership;
    return member.gang_name == gang.metadata.name &&
           api::IsOfOwner(gang, member.owner.uid, member.root.uid);
  };
  return std::any_of(facts.cluster.pods.begin(), facts.cluster.pods.end(), is_one);
}

Decision GiveBack(const GangPtr& gang, api::GangStatus status, const std::string& why,
                  bool warning = false) {
  return {{CommitGangStatus{KeyOf(gang->metadata), gang, std::move(status)},
           Increment{&PassReport::given_back},
           Event{gang->owner, gang->metadata.namespace_name, warning, "HostsGivenBack", why}}};
}

// Of a gang without pods. Where it had lost a host by then, it goes before its equals.
api::GangStatus GivenBackWithoutPods(const api::Gang& gang, const char* reason,
                                     const std::string& why, std::int64_t now_ms) {
  api::GangStatus status = GivenBack(gang, reason, why, now_ms);
  if (gather::WentAfterLoss(gang.status)) Expedite(status, gang, "HostLost", now_ms);
  return status;
}

// Begins the time for which the gang keeps its hosts without a pod.
Decision NotePodsGone(const PassFacts& facts, const GangPtr& gang) {
  const std::int64_t now_ms = facts.now.wall_ms;
  if (gather::PodsAreToCome(*gang) || gather::PodsGoneSinceMs(gang->status, now_ms)) return {};
  // It gives its hosts back for another gang in a moment.
  if (api::IsTrue(gang->status.conditions, api::kPreemptedCondition)) return {};
  api::GangStatus status = gang->status;
  std::erase_if(status.conditions, [](const api::Condition& condition) {
    return condition.type == api::kPodsGoneCondition;
  });
  const std::int64_t keeps_ms = gather::KeepsHostsForMs(status, now_ms);
  const char* reason = gather::WentAfterLoss(status) ? gather::kPodsGoneAfterLoss : "NoPods";
  SetCondition(
      status, *gang, api::kPodsGoneCondition, true, reason,
      StrCat("no pod of the gang is on a node; while it has none at all, its hosts are free ",
             keeps_ms / 1000, " s after the transition"),
      now_ms);
  return {{CommitGangStatus{KeyOf(gang->metadata), gang, std::move(status)}, WakeIn{keeps_ms}}};
}

Decision NotePodsBack(const PassFacts& facts, const GangPtr& gang) {
  api::GangStatus status = gang->status;
  SetCondition(status, *gang, api::kPodsGoneCondition, false, "PodOnNode",
               "a pod of the gang is on a node", facts.now.wall_ms);
  return {{CommitGangStatus{KeyOf(gang->metadata), gang, std::move(status)}}};
}

// The answer of the owner, or that it could not be read.
Decision FollowOwner(const PassFacts& facts, const GangPtr& gang, const EffectOutcome& read) {
  const NamespacedName key = KeyOf(gang->metadata);
  if (!read.done() && !absl::IsNotFound(read.status)) {
    Decision decision{{ReportProblem{StrCat(
        "Gang ", key.text(), ": it has no pods, and whether its owner has ended is not known: ",
        MessageOf(read.status), "; its hosts stay promised for a while")}}};
    return AndThen(std::move(decision),
                   [gang](const PassFacts& now) { return NotePodsGone(now, gang); });
  }
  const gather::OwnerState owner =
      read.done() ? gather::OwnerStateOf(*gang, read.object) : gather::OwnerStateOf(*gang, {});
  if (owner.phase == gather::OwnerPhase::kActive) return NotePodsGone(facts, gang);
  // The operator is about to resume it.
  const bool waits = owner.phase == gather::OwnerPhase::kSuspended &&
                     gather::IsOfSuspendedJob(*gang) && gather::PodsAreToCome(*gang) &&
                     api::WaitsSuspended(read.object);
  if (waits) return {};
  const std::string why = owner.why + "; the hosts are free";
  if (owner.phase == gather::OwnerPhase::kSuspended) {
    return GiveBack(gang, GivenBackWithoutPods(*gang, "Suspended", why, facts.now.wall_ms), why);
  }
  const char* reason = owner.phase == gather::OwnerPhase::kFinished ? "OwnerFinished" : "OwnerGone";
  return GiveBack(gang, Finished(*gang, reason, why, facts.now.wall_ms), why);
}

Decision AskOwner(const PassFacts& facts, const GangPtr& gang) {
  if (WereReleased(facts, *gang)) {
    const std::string why = "its pods were released without a place; the hosts are free";
    return GiveBack(gang, GivenBack(*gang, "ReleasedWithoutPlace", why, facts.now.wall_ms), why);
  }
  const auto resource = gather::ResourceOfOwner(gang->owner);
  if (!resource) return NotePodsGone(facts, gang);
  Decision decision{{ReadObject{{*resource, gang->metadata.namespace_name, gang->owner.name, ""}}}};
  decision.then = [gang](const PassFacts& now, const EffectOutcomes& read) {
    return FollowOwner(now, gang, read.front());
  };
  return decision;
}

// Why a gang without a place has no pods, where its condition Planned says something else: what it
// waited for before.
Decision PlannedWithoutPods(const GangPtr& gang, const PassFacts& now, const char* reason,
                            const std::string& why) {
  return {{CommitGangStatus{KeyOf(gang->metadata), gang,
                            WithoutPods(*gang, reason, why, now.now.wall_ms)}}};
}

Decision FollowOwnerWithoutPods(const GangPtr& gang, const PassFacts& now,
                                const EffectOutcome& read) {
  if (!read.answered()) return {};
  const gather::OwnerState owner =
      gather::OwnerStateOf(*gang, read.done() ? read.object : nlohmann::json());
  switch (owner.phase) {
    case gather::OwnerPhase::kActive:
      return PlannedWithoutPods(gang, now, "NoPods", StrCat("the gang has no pod; ", owner.why));
    case gather::OwnerPhase::kSuspended:
      return PlannedWithoutPods(gang, now, "Suspended", owner.why);
    case gather::OwnerPhase::kFinished:
      return PlannedWithoutPods(gang, now, "OwnerFinished", owner.why);
    case gather::OwnerPhase::kGone:
      break;  // the garbage collector, or gang_cleanup.h, takes its Gang
  }
  return PlannedWithoutPods(gang, now, "OwnerGone", owner.why);
}

const char* WhyRefused(const api::Gang& gang) {
  return gather::IsOfSuspendedJob(gang) ? "its job asks for no place now"
                                        : "pods of it were refused";
}

// Set again, so that its transition says when the gang went to the back of the queue.
void Requeue(const api::Gang& gang, const char* reason, const std::string& why, std::int64_t now_ms,
             api::GangStatus& status) {
  std::erase_if(status.conditions, [](const api::Condition& condition) {
    return condition.type == api::kRequeuedCondition;
  });
  SetCondition(status, gang, api::kRequeuedCondition, true, reason, why, now_ms);
}

// Looks through every pod of the cluster: in the gang's turn.
Decision FindWhyNoPods(const PassFacts& facts, const GangPtr& gang) {
  if (gang->pods == api::GangPods::kRefused) {
    return PlannedWithoutPods(gang, facts, "PodsRefused", WhyRefused(*gang));
  }
  if (WereReleased(facts, *gang)) {
    return PlannedWithoutPods(gang, facts, "ReleasedWithoutPlace",
                              "its pods were released without a place");
  }
  const auto resource = gather::ResourceOfOwner(gang->owner);
  if (!resource) return PlannedWithoutPods(gang, facts, "NoPods", "the gang has no pod");
  Decision decision{{ReadObject{{*resource, gang->metadata.namespace_name, gang->owner.name, ""}}}};
  decision.then = [gang](const PassFacts& now, const EffectOutcomes& outcomes) {
    return FollowOwnerWithoutPods(gang, now, outcomes.front());
  };
  return decision;
}

// Its condition Planned says what became of a plan, and not why it has no pods.
bool DescribesPlan(const api::GangStatus& status) {
  const api::Condition* planned = api::FindCondition(status.conditions, api::kPlannedCondition);
  if (planned == nullptr) return true;
  static constexpr std::string_view kOfPods[] = {
      "NotNow", "Never", "Incomplete", "Invalid", "HeldByOthers", "HostsRefused", "NotAdopted"};
  return std::find(std::begin(kOfPods), std::end(kOfPods), planned->reason) != std::end(kOfPods);
}

// Its pods were to follow its place, and have not come. nullopt: they may still.
std::optional<Decision> EndWaitForPods(const PassFacts& facts, const GangPtr& gang) {
  const std::int64_t now_ms = facts.now.wall_ms;
  if (gang->pods == api::GangPods::kRefused) {
    const std::string why = StrCat(WhyRefused(*gang), "; the hosts are free");
    api::GangStatus status = GivenBack(*gang, "PodsRefused", why, now_ms);
    if (gather::IsOfSuspendedJob(*gang)) Requeue(*gang, "PodsRefused", why, now_ms, status);
    return GiveBack(gang, std::move(status), why);
  }
  const std::int64_t limit_ms = gather::PodsComeWithinMs(*gang);
  if (gang->status.committed_ms + limit_ms > now_ms) return std::nullopt;
  const std::string why =
      StrCat("no pod of the gang was made in the ", limit_ms / 1000,
             " s since it was placed; the hosts are free, and it queues behind the others");
  api::GangStatus status = GivenBack(*gang, "NoPods", why, now_ms);
  Requeue(*gang, "NoPods", why, now_ms, status);
  return GiveBack(gang, std::move(status), why, /*warning=*/true);
}

Decision Decide(const PassFacts& facts, const NamespacedName& key) {
  const GangPtr gang = facts.gangs.at(key);
  const std::int64_t now_ms = facts.now.wall_ms;
  if (IsFinished(gang->status)) {
    return {{CommitGangStatus{key, gang,
                              GivenBack(*gang, "PodsMadeAgain",
                                        "pods were made again after the gang had ended", now_ms)}}};
  }
  const gather::GatheredGang* gathered = facts.GatheredOf(key);
  if (HasPods(gathered)) return NotePodsBack(facts, gang);
  if (gathered != nullptr && gathered->succeeded >= gang->placed_workers()) {
    return {{CommitGangStatus{
                 key, gang,
                 Finished(*gang, "PodsFinished",
                          "the pod of every rank has succeeded; the hosts are free", now_ms)},
             Increment{&PassReport::given_back}}};
  }
  Decision decision;
  if (gather::PodsAreToCome(*gang)) {
    if (auto ended = EndWaitForPods(facts, gang)) return *std::move(ended);
    decision.effects.push_back(
        WakeIn{gang->status.committed_ms + gather::PodsComeWithinMs(*gang) - now_ms});
  }
  if (const auto since_ms = gather::PodsGoneSinceMs(gang->status, now_ms)) {
    const std::int64_t left_ms =
        *since_ms + gather::KeepsHostsForMs(gang->status, *since_ms) - now_ms;
    if (left_ms <= 0) {
      const std::string why =
          StrCat("no pod of the gang has been there for ", (now_ms - *since_ms) / 1000,
                 " s; the hosts are free, and it is placed again when its pods come");
      return GiveBack(gang, GivenBackWithoutPods(*gang, "NoPods", why, now_ms), why,
                      /*warning=*/true);
    }
    decision.effects.push_back(WakeIn{left_ms});
  }
  decision.effects.push_back(AwaitTurn{key, Question::kOwnerState});
  decision.then = [gang](const PassFacts& now, const EffectOutcomes& turn) {
    return AllDone(turn) ? AskOwner(now, gang) : Decision{};
  };
  return decision;
}

}  // namespace

std::vector<Work> GiveUnneededHostsBack(const PassFacts& facts) {
  std::vector<Work> works;
  for (const auto& [key, gang] : facts.gangs) {
    // One that moves has no pods in between (move_step.h).
    if (facts.isolated.count(key) != 0 || gang->status.is_promised_next()) continue;
    const gather::GatheredGang* gathered = facts.GatheredOf(key);
    if (!gang->status.committed()) {
      if (HasPods(gathered) || !DescribesPlan(gang->status)) continue;
      if (gang->metadata.deleted_ms || facts.backing_off.count(key) != 0) continue;
      if (MayBePlacedFirst(facts, *gang)) continue;
      works.push_back({key, [key = key, gang = gang](const PassFacts&) {
                         Decision decision{{AwaitTurn{key, Question::kOwnerState}}};
                         decision.then = [gang](const PassFacts& now, const EffectOutcomes& turn) {
                           return AllDone(turn) ? FindWhyNoPods(now, gang) : Decision{};
                         };
                         return decision;
                       }});
      continue;
    }
    const bool again = gathered != nullptr && !gathered->members.empty();
    const bool back = again && gather::AnyBound(*gathered) &&
                      api::IsTrue(gang->status.conditions, api::kPodsGoneCondition);
    if (!(IsFinished(gang->status) ? again : back || !HasPods(gathered))) continue;
    works.push_back({key, [key = key](const PassFacts& now) { return Decide(now, key); }});
  }
  return works;
}

}  // namespace yardmaster::extender
