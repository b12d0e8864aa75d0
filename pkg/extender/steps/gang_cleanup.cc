#include "pkg/extender/steps/gang_cleanup.h"

#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/extender/gather/owner_state.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::extender {

namespace {

constexpr std::int64_t kEmptyMs = 60'000;

bool IsCollected(const api::Gang& gang) {
  return !gang.metadata.owners.empty() && ResourceOfOwner(gang.owner).has_value();
}

bool HasAnyPod(const GatheredGang* gathered) {
  return gathered != nullptr && (!gathered->members.empty() || !gathered->leaving.empty() ||
                                 !gathered->strays.empty() || gathered->finished > 0);
}

}  // namespace

void GangCleanup::Run(PassState& pass) {
  const std::int64_t now_ms = clock_.SteadyMs();
  std::map<NamespacedName, std::int64_t> before;
  before.swap(empty_since_ms_);
  std::vector<NamespacedName> keys;
  for (const auto& [key, gang] : pass.gangs) {
    if (HoldsHosts(gang->status) || HasAnyPod(pass.GatheredOf(key))) continue;
    if (IsCollected(*gang) || gang->metadata.deleted_ms || ledger_.InDoubt(key)) continue;
    const auto known = before.find(key);
    const std::int64_t since_ms = known == before.end() ? now_ms : known->second;
    empty_since_ms_.emplace(key, since_ms);
    if (now_ms - since_ms >= kEmptyMs) {
      keys.push_back(key);
    } else {
      pass.WakeIn(since_ms + kEmptyMs - now_ms);
    }
  }
  ask_times_.Begin();
  for (const NamespacedName& key : keys) {
    pass.handling = key;
    if (!ask_times_.IsDue(pass, key) || !ledger_.may_write()) continue;
    if (OwnerIsGone(pass, *pass.gangs.at(key))) Delete(pass, key);
  }
  pass.handling.reset();
  ask_times_.End();
}

bool GangCleanup::OwnerIsGone(PassState& pass, const api::Gang& gang) {
  const auto resource = ResourceOfOwner(gang.owner);
  if (!resource) return true;
  const auto object = client_.Get({*resource, gang.metadata.namespace_name, gang.owner.name, ""});
  if (object.ok()) return OwnerStateOf(gang, *object).phase == OwnerPhase::kGone;
  if (absl::IsNotFound(object.status())) return true;
  pass.report.errors.push_back(MessageOf(object.status()));
  return false;
}

void GangCleanup::Delete(PassState& pass, const NamespacedName& key) {
  const api::ObjectMeta& meta = pass.gangs.at(key)->metadata;
  kube::DeleteOptions same;
  same.uid = meta.uid;
  same.resource_version = meta.resource_version;
  const absl::Status deleted =
      client_.Delete({kube::Gangs(), key.namespace_name, key.name, ""}, same);
  if (deleted.ok() || absl::IsNotFound(deleted)) {
    empty_since_ms_.erase(key);
    pass.gangs.erase(key);
  } else if (!kube::IsGone(deleted)) {
    pass.report.errors.push_back(MessageOf(deleted));
  }
}

}  // namespace yardmaster::extender
