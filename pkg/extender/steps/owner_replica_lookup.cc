#include "pkg/extender/steps/owner_replica_lookup.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/gather/owner_size.h"
#include "pkg/gather/owner_stages.h"
#include "pkg/gather/owner_state.h"

namespace yardmaster::extender {

namespace {

constexpr std::int64_t kPatienceMs = 3'000;
constexpr std::size_t kMaxSubgroups = 16;

// Of those that the Gang has; the first few.
std::vector<std::string> SubgroupsThatLackPods(const api::Gang& gang,
                                               const gather::GatheredGang& pods) {
  std::map<std::string_view, int> there;
  for (const auto* list : {&pods.members, &pods.strays}) {
    for (const gather::GangMember& member : *list) ++there[member.membership->subgroup];
  }
  std::vector<std::string> lack;
  for (std::size_t i = 0; i < gang.rank_bases.size() && lack.size() < kMaxSubgroups; ++i) {
    const api::RankBase& base = gang.rank_bases[i];
    const int end =
        i + 1 < gang.rank_bases.size() ? gang.rank_bases[i + 1].first_rank : gang.job.workers;
    if (there[base.subgroup] < end - base.first_rank) lack.push_back(base.subgroup);
  }
  return lack;
}

// Those of a JobSet whose Jobs are to be read.
std::vector<std::string> SubgroupsToRead(const PassFacts& facts, const NamespacedName& key,
                                         const gather::GatheredGang& pods) {
  const GangPtr gang = facts.FindGang(key);
  const bool is_set = pods.members.front().membership->owner.kind == "JobSet";
  return is_set && gang != nullptr ? SubgroupsThatLackPods(*gang, pods)
                                   : std::vector<std::string>();
}

// nullopt: the owner did not say it.
using NextEnded =
    std::function<Decision(const PassFacts&, std::optional<std::vector<gather::Replica>>)>;

// Reads the Jobs of a JobSet whose pods are missing.
Decision AddEndedOfJobSet(const PassFacts& facts, const NamespacedName& key,
                          const nlohmann::json& jobset, const gather::GatheredGang& pods,
                          NextEnded next) {
  std::vector<std::string> subgroups;
  Decision decision;
  decision.threads = 1;  // none counts on another
  for (const std::string& subgroup : SubgroupsToRead(facts, key, pods)) {
    const auto name = gather::JobOfSubgroup(jobset, subgroup);
    if (!name) continue;
    subgroups.push_back(subgroup);
    decision.effects.push_back(
        ReadObject{{{"batch", "v1", "jobs", "Job", true}, key.namespace_name, *name, ""}});
  }
  decision.then = [subgroups, next = std::move(next)](const PassFacts& now,
                                                      const EffectOutcomes& outcomes) {
    std::vector<gather::Replica> ended;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (!outcomes[i].done()) {
        if (outcomes[i].answered()) continue;  // it is to be made again
        return next(now, std::nullopt);
      }
      for (const int index : gather::EndedIndexes(outcomes[i].object)) {
        ended.push_back({subgroups[i], index});
      }
    }
    std::sort(ended.begin(), ended.end());
    return next(now, std::move(ended));
  };
  return decision;
}

OwnerSays Reading(const api::OwnerReference& owner, const nlohmann::json& object,
                  const gather::GatheredGang& pods,
                  std::optional<std::vector<gather::Replica>> ended) {
  OwnerSays says;
  std::set<gather::Replica> without_pod;
  if (ended) without_pod.insert(ended->begin(), ended->end());
  says.ended = std::move(ended);
  const auto wanted = gather::SizeOf(owner, object);
  if (!wanted) return says;
  const auto total = static_cast<std::size_t>(wanted->pods());
  if (total <= api::kMaxListedRanks) says.wanted = static_cast<int>(total);
  without_pod.insert(pods.ended.begin(), pods.ended.end());
  for (const gather::GangMember& member : pods.members) {
    without_pod.erase({member.membership->subgroup, member.membership->index});
  }
  const std::size_t there = pods.members.size() + pods.strays.size() + without_pod.size();
  if (total == there) says.size = static_cast<int>(total);
  if (total <= there) return says;
  gather::Stages stages = gather::StagesOf(owner, object, pods);
  if (stages.whole) says.size = static_cast<int>(there);
  says.more_to_come = stages.whole;
  says.why_not = std::move(stages.why_not);
  return says;
}

// Goes on with the replicas that have ended, as the owner and its Jobs say it.
Decision WithEnded(const PassFacts& facts, const NamespacedName& key, const nlohmann::json& object,
                   const gather::GatheredGang& pods, NextEnded next) {
  const gather::GangMember& first = pods.members.front();
  const api::OwnerReference& owner = first.membership->owner;
  std::vector<gather::Replica> ended;
  // Their ranks are not those of the Job.
  if (api::Find(first.pod->metadata.labels, api::kRankLabel)) return next(facts, ended);
  if (owner.kind == "JobSet") return AddEndedOfJobSet(facts, key, object, pods, std::move(next));
  if (owner.kind == "Job" && owner.api_version == "batch/v1") {
    for (const int index : gather::EndedIndexes(object)) ended.push_back({"", index});
  }
  return next(facts, std::move(ended));
}

}  // namespace

void OwnerReplicaLookup::Begin(const PassFacts& facts) {
  std::erase_if(seen_, [&](const auto& entry) { return facts.gathered.count(entry.first) == 0; });
}

Decision OwnerReplicaLookup::Ask(const PassFacts& facts, const NamespacedName& key, bool contradict,
                                 Next next) {
  const std::shared_ptr<const gather::GatheredGang> pods = facts.gathered.at(key);
  Seen& seen = seen_[key];
  if (seen.pods != pods) seen = {pods, facts.now.steady_ms, {}};
  const std::int64_t left_ms = kPatienceMs - (facts.now.steady_ms - seen.since_ms);
  if (!contradict && left_ms > 0) {
    return AndThen({{WakeIn{left_ms}}},
                   [next](const PassFacts& now) { return next(now, OwnerSays()); });
  }
  const api::OwnerReference owner = pods->members.front().membership->owner;
  const auto resource = gather::ResourceOfOwner(owner);
  if (!resource) return next(facts, {});
  const Question question = SubgroupsToRead(facts, key, *pods).empty() ? Question::kOwnerReplicas
                                                                       : Question::kJobsOfJobSet;
  Decision decision{
      {AwaitTurn{key, question}, ReadObject{{*resource, key.namespace_name, owner.name, ""}}}};
  decision.then = [this, key, pods, owner, next](const PassFacts& now,
                                                 const EffectOutcomes& outcomes) {
    if (!outcomes.back().answered()) return next(now, seen_[key].says);
    seen_[key].says = {};
    if (!outcomes.back().done()) return next(now, {});
    const nlohmann::json& object = outcomes.back().object;
    return WithEnded(now, key, object, *pods,
                     [this, key, pods, owner, next, object](
                         const PassFacts& read, std::optional<std::vector<gather::Replica>> ended) {
                       seen_[key].says = Reading(owner, object, *pods, std::move(ended));
                       return next(read, seen_[key].says);
                     });
  };
  return decision;
}

}  // namespace yardmaster::extender
