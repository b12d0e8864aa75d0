#include "pkg/extender/steps/owner_step.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/gather/pods_gone.h"
#include "pkg/extender/ledger/gang_status.h"

namespace yardmaster::extender {

namespace {

bool HasPods(const GatheredGang* gathered) {
  return gathered != nullptr && (!gathered->members.empty() || !gathered->leaving.empty());
}

// Pods of the gang went to the scheduler as they are, as kubectl yardmaster release lets them: they
// are in no gang any more, and no host is needed for them.
bool WereReleased(const PassState& pass, const api::Gang& gang) {
  const auto is_one = [&](const PodPtr& pod) {
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
  return std::any_of(pass.cluster.pods.begin(), pass.cluster.pods.end(), is_one);
}

}  // namespace

void OwnerStep::Run(PassState& pass) {
  ask_times_.Begin();
  std::vector<NamespacedName> keys;
  for (const auto& [key, gang] : pass.gangs) {
    if (pass.quarantined.count(key) != 0 || !gang->status.committed()) continue;
    const GatheredGang* gathered = pass.GatheredOf(key);
    const bool again = gathered != nullptr && !gathered->members.empty();
    const bool back = again && AnyBound(*gathered) &&
                      api::IsTrue(gang->status.conditions, api::kPodsGoneCondition);
    if (IsFinished(gang->status) ? again : back || !HasPods(gathered)) keys.push_back(key);
  }
  for (const NamespacedName& key : keys) {
    pass.handling = key;
    RunOne(pass, key);
  }
  pass.handling.reset();
  ask_times_.End();
}

void OwnerStep::RunOne(PassState& pass, const NamespacedName& key) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  const std::int64_t now_ms = clock_.WallMs();
  if (IsFinished(gang->status)) {
    ledger_.Write(
        pass, *gang,
        GivenBack(*gang, "PodsMadeAgain", "pods were made again after the gang had ended", now_ms));
    return;
  }
  const GatheredGang* gathered = pass.GatheredOf(key);
  if (HasPods(gathered)) return NotePodsBack(pass, key);
  if (gathered != nullptr && gathered->succeeded >= gang->placed_workers()) {
    if (ledger_.Write(
            pass, *gang,
            Finished(*gang, "PodsFinished",
                     "the pod of every rank has succeeded; the hosts are free", now_ms))) {
      ++pass.report.given_back;
    }
    return;
  }
  if (EndsWithoutPods(pass, key) || !ask_times_.IsDue(pass, key)) return;
  if (WereReleased(pass, *gang)) {
    const std::string why = "its pods were released without a place; the hosts are free";
    if (!ledger_.Write(pass, *gang, GivenBack(*gang, "ReleasedWithoutPlace", why, now_ms))) return;
    ++pass.report.given_back;
    notify_({gang->owner, gang->metadata.namespace_name, false, "HostsGivenBack", why});
    return;
  }
  const std::optional<OwnerState> owner = Ask(pass, *gang);
  if (!owner || owner->phase == OwnerPhase::kActive) return NotePodsGone(pass, key);
  const std::string text = owner->why + "; the hosts are free";
  const bool suspended = owner->phase == OwnerPhase::kSuspended;
  const char* reason = suspended                               ? "Suspended"
                       : owner->phase == OwnerPhase::kFinished ? "OwnerFinished"
                                                               : "OwnerGone";
  if (!ledger_.Write(pass, *gang,
                     suspended ? GivenBack(*gang, reason, text, now_ms)
                               : Finished(*gang, reason, text, now_ms))) {
    return;
  }
  ++pass.report.given_back;
  notify_({gang->owner, gang->metadata.namespace_name, false, "HostsGivenBack", text});
}

void OwnerStep::NotePodsGone(PassState& pass, const NamespacedName& key) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  const std::int64_t now_ms = clock_.WallMs();
  if (PodsGoneSinceMs(gang->status, now_ms)) return;
  // It gives its hosts back for another gang in a moment.
  if (api::IsTrue(gang->status.conditions, api::kPreemptedCondition)) return;
  api::GangStatus status = gang->status;
  std::erase_if(status.conditions, [](const api::Condition& condition) {
    return condition.type == api::kPodsGoneCondition;
  });
  const std::int64_t keeps_ms = KeepsHostsForMs(status, now_ms);
  SetCondition(status, *gang, api::kPodsGoneCondition, true, "NoPods",
               StrCat("the gang has no pod; its hosts are free unless one comes within ",
                      keeps_ms / 1000, " s"),
               now_ms);
  if (ledger_.Write(pass, *gang, status)) pass.WakeIn(keeps_ms);
}

void OwnerStep::NotePodsBack(PassState& pass, const NamespacedName& key) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  api::GangStatus status = gang->status;
  SetCondition(status, *gang, api::kPodsGoneCondition, false, "PodOnNode",
               "a pod of the gang is on a node", clock_.WallMs());
  ledger_.Write(pass, *gang, status);
}

bool OwnerStep::EndsWithoutPods(PassState& pass, const NamespacedName& key) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  const std::int64_t now_ms = clock_.WallMs();
  const auto since_ms = PodsGoneSinceMs(gang->status, now_ms);
  if (!since_ms) return false;
  const std::int64_t left_ms = *since_ms + KeepsHostsForMs(gang->status, *since_ms) - now_ms;
  if (left_ms > 0) {
    pass.WakeIn(left_ms);
    return false;
  }
  const std::string why =
      StrCat("no pod of the gang has been there for ", (now_ms - *since_ms) / 1000,
             " s; the hosts are free, and it is placed again when its pods come");
  if (!ledger_.Write(pass, *gang, GivenBack(*gang, "NoPods", why, now_ms))) return true;
  ++pass.report.given_back;
  notify_({gang->owner, key.namespace_name, true, "HostsGivenBack", why});
  return true;
}

std::optional<OwnerState> OwnerStep::Ask(PassState& pass, const api::Gang& gang) {
  const auto resource = ResourceOfOwner(gang.owner);
  if (!resource) return std::nullopt;
  auto object = client_.Get({*resource, gang.metadata.namespace_name, gang.owner.name, ""});
  if (object.ok()) return OwnerStateOf(gang, *object);
  if (absl::IsNotFound(object.status())) return OwnerStateOf(gang, {});
  pass.report.problems.push_back(
      StrCat("Gang ", gang.metadata.namespace_name, "/", gang.metadata.name,
             ": it has no pods, and whether its owner has ended is not known: ",
             MessageOf(object.status()), "; its hosts stay promised for a while"));
  return std::nullopt;
}

}  // namespace yardmaster::extender
