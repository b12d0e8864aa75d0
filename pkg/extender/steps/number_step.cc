#include "pkg/extender/steps/number_step.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pkg/api/unnumbered_pod.h"

namespace yardmaster::extender {

namespace {

// Controllers make the pods of a cluster one after the other.
constexpr std::int64_t kUnchangedMs = 1'000;
constexpr std::size_t kNumberThreads = 8;

// Of the gang's pods that stay.
std::set<int> RanksInUse(const PassFacts& facts, const NamespacedName& gang,
                         const std::string& owner_uid) {
  std::set<int> ranks;
  const gather::GatheredGang* pods = facts.GatheredOf(gang);
  if (pods == nullptr || pods->owner_uid != owner_uid) return ranks;
  for (const auto* list : {&pods->members, &pods->strays}) {
    for (const gather::GangMember& member : *list) ranks.insert(member.membership->index);
  }
  return ranks;
}

Decision NumberPods(const NamespacedName& gang, std::vector<gather::PodPtr> pods,
                    const std::set<int>& in_use) {
  std::sort(pods.begin(), pods.end(), [](const gather::PodPtr& a, const gather::PodPtr& b) {
    return api::NumberedBefore(*a, *b);
  });
  Decision decision;
  decision.threads = kNumberThreads;
  int rank = 0;
  for (const gather::PodPtr& pod : pods) {
    while (in_use.count(rank) != 0) ++rank;
    decision.effects.push_back(NumberPod{gang, pod, rank++});
  }
  decision.effects.push_back(RunSoon{});
  return decision;
}

}  // namespace

std::vector<Work> NumberStep::Plan(const PassFacts& facts) {
  std::map<Id, Unnumbered> now;
  for (const gather::UnnumberedPod& one : gatherer_.Unnumbered()) {
    now[{one.gang.namespace_name, one.gang.name, one.owner_uid}].pods.push_back(one.pod);
  }
  std::vector<Work> works;
  for (auto& [id, unnumbered] : now) {
    const auto before = waiting_.find(id);
    const auto uid = [](const gather::PodPtr& pod) { return pod->metadata.uid; };
    const bool same = before != waiting_.end() &&
                      std::equal(unnumbered.pods.begin(), unnumbered.pods.end(),
                                 before->second.pods.begin(), before->second.pods.end(),
                                 [&](const gather::PodPtr& a, const gather::PodPtr& b) {
                                   return uid(a) == uid(b);
                                 });
    unnumbered.since_ms = same ? before->second.since_ms : facts.now.steady_ms;
    const NamespacedName gang{std::get<0>(id), std::get<1>(id)};
    const std::int64_t left_ms = unnumbered.since_ms + kUnchangedMs - facts.now.steady_ms;
    works.push_back({gang, [left_ms, gang, owner = std::get<2>(id),
                            pods = unnumbered.pods](const PassFacts& later) {
                       if (left_ms > 0) return Decision{{WakeIn{left_ms}}};
                       return NumberPods(gang, pods, RanksInUse(later, gang, owner));
                     }});
  }
  waiting_ = std::move(now);
  return works;
}

}  // namespace yardmaster::extender
