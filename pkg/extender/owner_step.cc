#include "pkg/extender/owner_step.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/gang_status.h"

namespace yardmaster::extender {

namespace {

// The first look comes at once: the controller that removed the pods has seen why. A second one
// catches controllers that write their status after they removed the pods.
constexpr std::int64_t kFirstWaitMs = 250;
constexpr std::int64_t kMaxWaitMs = 10'000;

bool HasPods(const GatheredGang* gathered) {
  return gathered != nullptr && (!gathered->members.empty() || !gathered->leaving.empty());
}

}  // namespace

void OwnerStep::Run(PassState& pass) {
  ++round_;
  std::vector<NameKey> keys;
  for (const auto& [key, gang] : pass.gangs) {
    if (pass.quarantined.count(key) != 0 || !gang->status.committed()) continue;
    const GatheredGang* gathered = pass.GatheredOf(key);
    const bool again = gathered != nullptr && !gathered->members.empty();
    if (IsFinished(gang->status) ? again : !HasPods(gathered)) keys.push_back(key);
  }
  for (const NameKey& key : keys) {
    pass.handling = key;
    RunOne(pass, key);
  }
  pass.handling.reset();
  std::erase_if(asked_, [this](const auto& entry) { return entry.second.round != round_; });
}

void OwnerStep::RunOne(PassState& pass, const NameKey& key) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  const std::int64_t now_ms = clock_.WallMs();
  if (IsFinished(gang->status)) {
    ledger_.Write(
        pass, *gang,
        GivenBack(*gang, "PodsMadeAgain", "pods were made again after the gang had ended", now_ms));
    return;
  }
  const GatheredGang* gathered = pass.GatheredOf(key);
  if (gathered != nullptr && gathered->succeeded >= gang->job.workers) {
    if (ledger_.Write(
            pass, *gang,
            Finished(*gang, "PodsFinished",
                     "the pod of every rank has succeeded; the hosts are free", now_ms))) {
      ++pass.report.given_back;
    }
    return;
  }
  if (!IsDue(pass, key)) return;
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

bool OwnerStep::IsDue(PassState& pass, const NameKey& key) {
  const auto at = pass.gathered.find(key);
  std::shared_ptr<const GatheredGang> pods = at == pass.gathered.end() ? nullptr : at->second;
  const auto [entry, is_new] = asked_.try_emplace(key);
  Asked& asked = entry->second;
  asked.round = round_;
  const std::int64_t now_ms = clock_.SteadyMs();
  if (is_new || asked.pods != pods) {
    asked = {std::move(pods), now_ms, kFirstWaitMs, round_};
  }
  if (asked.next_ms > now_ms) {
    pass.WakeIn(asked.next_ms - now_ms);
    return false;
  }
  asked.next_ms = now_ms + asked.wait_ms;
  pass.WakeIn(asked.wait_ms);
  asked.wait_ms = std::min(asked.wait_ms * 2, kMaxWaitMs);
  return true;
}

std::optional<OwnerState> OwnerStep::Ask(PassState& pass, const api::Gang& gang) {
  const auto resource = ResourceOfOwner(gang.owner);
  if (!resource) return std::nullopt;
  auto object = client_.Get({*resource, gang.metadata.namespace_name, gang.owner.name, ""});
  if (object.ok()) return OwnerStateOf(gang, *object);
  if (absl::IsNotFound(object.status())) return OwnerStateOf(gang, nullptr);
  pass.report.problems.push_back(
      StrCat("Gang ", gang.metadata.namespace_name, "/", gang.metadata.name,
             ": it has no pods, and whether its owner has ended is not known: ",
             MessageOf(object.status()), "; its hosts stay promised"));
  return std::nullopt;
}

}  // namespace yardmaster::extender
