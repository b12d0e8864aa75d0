#include "pkg/extender/steps/incomplete_step.h"

#include <optional>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_notices.h"
#include "pkg/extender/ledger/gang_status.h"

namespace yardmaster::extender {

namespace {

constexpr std::int64_t kIncompletePatienceMs = 10'000;

// Pods of it wait, behind our gate or for filter's answer, and it has no place.
bool MayBeIncomplete(const PassFacts& facts, const NamespacedName& key,
                     const gather::GatheredGang& pods) {
  if (pods.unbound == 0 || facts.isolated.count(key) != 0) return false;
  const GangPtr gang = facts.FindGang(key);
  return gang == nullptr || !gang->status.committed();
}

// Why its Gang has no place is that it is not whole; what was planned before does not hold.
std::optional<CommitGangStatus> WaitsForPods(const PassFacts& facts, const NamespacedName& key,
                                             const gather::IncompleteGang& found) {
  const GangPtr gang = facts.FindGang(key);
  if (gang == nullptr || facts.backing_off.count(key) != 0) return std::nullopt;
  api::GangStatus status =
      WithoutPods(*gang, std::string(Name(found.cause)), found.text, facts.now.wall_ms);
  if (status == gang->status) return std::nullopt;
  return CommitGangStatus{key, gang, std::move(status)};
}

}  // namespace

std::vector<Work> IncompleteStep::Plan(const PassFacts& facts) {
  std::erase_if(seen_, [&](const auto& entry) {
    const gather::GatheredGang* pods = facts.GatheredOf(entry.first);
    return pods == nullptr || !MayBeIncomplete(facts, entry.first, *pods);
  });
  std::vector<Work> works;
  for (const auto& [key, pods] : facts.gathered) {
    if (!MayBeIncomplete(facts, key, *pods)) continue;
    const GangPtr gang = facts.FindGang(key);
    const bool whole = gang != nullptr && gather::IsComplete(*pods, gang->job.workers);
    if (whole && pods->held_by_others == 0) {
      seen_.erase(key);
      continue;
    }
    works.push_back({key, [this, key = key](const PassFacts& now) { return Decide(now, key); }});
  }
  return works;
}

Decision IncompleteStep::Decide(const PassFacts& facts, const NamespacedName& key) {
  const std::shared_ptr<const gather::GatheredGang>& pods = facts.gathered.at(key);
  Seen& seen = seen_[key];
  if (seen.pods != pods) {
    seen.pods = pods;
    seen.since_ms = facts.now.steady_ms;
  }
  const OwnerSays* says = specs_.OwnerSaysOf(key);
  const bool never = says != nullptr && !says->why_not.empty();
  const std::int64_t left_ms = seen.since_ms + kIncompletePatienceMs - facts.now.steady_ms;
  if (!never && left_ms > 0) return {{WakeIn{left_ms}}};
  const api::OwnerReference& owner = pods->members.front().membership->owner;
  const auto job = owner.kind == api::kTrainingJobKind
                       ? facts.cluster.jobs.Find({key.namespace_name, owner.name})
                       : nullptr;
  gather::DeclaredSizes declared;
  if (says != nullptr) declared.of_owner = says->wanted;
  if (const GroupSays* group = specs_.GroupSaysOf(key)) {
    declared.of_group = group->size;
    declared.why_no_group = group->why_not;
  }
  std::string why = declared.of_owner ? std::string() : declared.why_no_group;
  if (never) why = says->why_not;
  const auto found =
      gather::IncompletenessOf(*pods, facts.FindGang(key).get(), job.get(), declared, why);
  if (!found) return {};
  return Report(facts, key, *found, never);
}

Decision IncompleteStep::Report(const PassFacts& facts, const NamespacedName& key,
                                const gather::IncompleteGang& found, bool never) {
  Decision decision{{ReportProblem{StrCat("Gang ", key.text(), ": ", found.text)}}};
  if (std::exchange(seen_[key].text, found.text) != found.text) {
    const std::string reason = never ? "NeverComplete" : std::string(Name(found.cause));
    for (Event& event : OnOwnerAndPod({found.owner, key.namespace_name, true, reason, found.text},
                                      facts.GatheredOf(key))) {
      decision.effects.push_back(std::move(event));
    }
  }
  if (auto status = WaitsForPods(facts, key, found)) decision.effects.push_back(*std::move(status));
  return decision;
}

}  // namespace yardmaster::extender
