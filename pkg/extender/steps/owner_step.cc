#include "pkg/extender/steps/owner_step.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
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
    if (IsFinished(gang->status) ? again : !HasPods(gathered)) keys.push_back(key);
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
  if (gathered != nullptr && gathered->succeeded >= gang->placed_workers()) {
    if (ledger_.Write(
            pass, *gang,
            Finished(*gang, "PodsFinished",
                     "the pod of every rank has succeeded; the hosts are free", now_ms))) {
      ++pass.report.given_back;
    }
    return;
  }
  if (!ask_times_.IsDue(pass, key)) return;
  if (WereReleased(pass, *gang)) {
    const std::string why = "its pods were released without a place; the hosts are free";
    if (!ledger_.Write(pass, *gang, GivenBack(*gang, "ReleasedWithoutPlace", why, now_ms))) return;
    ++pass.report.given_back;
    notify_({gang->owner, gang->metadata.namespace_name, false, "HostsGivenBack", why});
    return;
  }
  const std::optional<OwnerState> owner = Ask(pass, *gang);
  if (!owner || owner->phase == OwnerPhase::kActive) return;
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

std::optional<OwnerState> OwnerStep::Ask(PassState& pass, const api::Gang& gang) {
  const auto resource = ResourceOfOwner(gang.owner);
  if (!resource) return std::nullopt;
  auto object = client_.Get({*resource, gang.metadata.namespace_name, gang.owner.name, ""});
  if (object.ok()) return OwnerStateOf(gang, *object);
  if (absl::IsNotFound(object.status())) return OwnerStateOf(gang, {});
  pass.report.problems.push_back(
      StrCat("Gang ", gang.metadata.namespace_name, "/", gang.metadata.name,
             ": it has no pods, and whether its owner has ended is not known: ",
             MessageOf(object.status()), "; its hosts stay promised"));
  return std::nullopt;
}

}  // namespace yardmaster::extender
