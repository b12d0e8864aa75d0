#include "pkg/extender/steps/unplaced_size.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/extender/gather/owner_size.h"
#include "pkg/extender/gather/owner_state.h"

namespace yardmaster::extender {

namespace {

constexpr std::int64_t kPatienceMs = 3'000;

}  // namespace

void UnplacedSize::Begin() {
  ++round_;
  ask_times_.Begin();
}

void UnplacedSize::End() {
  ask_times_.End();
  std::erase_if(seen_, [this](const auto& entry) { return entry.second.round != round_; });
}

std::optional<int> UnplacedSize::Of(PassState& pass, const NamespacedName& key, bool contradict) {
  const std::shared_ptr<const GatheredGang> pods = pass.gathered.at(key);
  Seen& seen = seen_[key];
  if (seen.pods != pods) seen = {pods, clock_.SteadyMs(), std::nullopt, round_};
  seen.round = round_;
  const std::int64_t waited_ms = clock_.SteadyMs() - seen.since_ms;
  if (!contradict && waited_ms < kPatienceMs) {
    pass.WakeIn(kPatienceMs - waited_ms);
    return std::nullopt;
  }
  if (!ask_times_.IsDue(pass, key)) return seen.size;
  seen.size.reset();
  const api::OwnerReference& owner = pods->members.front().membership->owner;
  const auto resource = ResourceOfOwner(owner);
  if (!resource) return std::nullopt;
  const auto object = client_.Get({*resource, key.namespace_name, owner.name, ""});
  if (!object.ok()) return std::nullopt;
  const auto wanted = PodsBySubgroup(owner, *object);
  if (!wanted) return std::nullopt;
  int total = 0;
  for (const auto& [subgroup, count] : *wanted) total += count;
  if (total == static_cast<int>(pods->members.size() + pods->strays.size())) seen.size = total;
  return seen.size;
}

}  // namespace yardmaster::extender
