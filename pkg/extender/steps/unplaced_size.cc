#include "pkg/extender/steps/unplaced_size.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/extender/gather/owner_size.h"
#include "pkg/extender/gather/owner_stages.h"
#include "pkg/extender/gather/owner_state.h"

namespace yardmaster::extender {

namespace {

constexpr std::int64_t kPatienceMs = 3'000;
constexpr std::size_t kMaxSubgroups = 16;

// Of those that the Gang has; the first few.
std::vector<std::string> SubgroupsThatLackPods(const api::Gang& gang, const GatheredGang& pods) {
  std::map<std::string_view, int> there;
  for (const auto* list : {&pods.members, &pods.strays}) {
    for (const GangMember& member : *list) ++there[member.membership->subgroup];
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

}  // namespace

void UnplacedSize::Begin() {
  ++round_;
  ask_times_.Begin();
}

void UnplacedSize::End() {
  ask_times_.End();
  std::erase_if(seen_, [this](const auto& entry) { return entry.second.round != round_; });
}

OwnerSays UnplacedSize::Of(PassState& pass, const NamespacedName& key, bool contradict) {
  const std::shared_ptr<const GatheredGang> pods = pass.gathered.at(key);
  Seen& seen = seen_[key];
  if (seen.pods != pods) seen = {pods, clock_.SteadyMs(), {}, round_};
  seen.round = round_;
  const std::int64_t waited_ms = clock_.SteadyMs() - seen.since_ms;
  if (!contradict && waited_ms < kPatienceMs) {
    pass.WakeIn(kPatienceMs - waited_ms);
    return {};
  }
  if (ask_times_.IsDue(pass, key)) seen.says = Ask(pass, key, *pods);
  return seen.says;
}

OwnerSays UnplacedSize::Ask(const PassState& pass, const NamespacedName& key,
                            const GatheredGang& pods) {
  OwnerSays says;
  const api::OwnerReference& owner = pods.members.front().membership->owner;
  const auto resource = ResourceOfOwner(owner);
  if (!resource) return says;
  const auto object = client_.Get({*resource, key.namespace_name, owner.name, ""});
  if (!object.ok()) return says;
  says.ended = EndedOf(pass, key, pods, *object);
  const auto wanted = SizeOf(owner, *object);
  if (!wanted) return says;
  const auto total = static_cast<std::size_t>(wanted->pods());
  std::set<Replica> without_pod(says.ended.begin(), says.ended.end());
  without_pod.insert(pods.ended.begin(), pods.ended.end());
  for (const GangMember& member : pods.members) {
    without_pod.erase({member.membership->subgroup, member.membership->index});
  }
  const std::size_t there = pods.members.size() + pods.strays.size() + without_pod.size();
  if (total == there) says.size = static_cast<int>(total);
  if (total <= there) return says;
  Stages stages = StagesOf(owner, *object, pods);
  if (stages.whole) says.size = static_cast<int>(there);
  says.more_to_come = stages.whole;
  says.why_not = std::move(stages.why_not);
  return says;
}

std::vector<Replica> UnplacedSize::EndedOf(const PassState& pass, const NamespacedName& key,
                                           const GatheredGang& pods, const nlohmann::json& object) {
  const api::OwnerReference& owner = pods.members.front().membership->owner;
  // Their ranks are not those of the Job.
  const bool own_ranks =
      api::Find(pods.members.front().pod->metadata.labels, api::kRankLabel).has_value();
  if (own_ranks) return {};
  std::vector<Replica> ended;
  if (owner.kind == "Job" && owner.api_version == "batch/v1") {
    for (const int index : EndedIndexes(object)) ended.push_back({"", index});
  }
  const auto gang = pass.gangs.find(key);
  if (owner.kind != "JobSet" || gang == pass.gangs.end()) return ended;
  for (const std::string& subgroup : SubgroupsThatLackPods(*gang->second, pods)) {
    const auto name = JobOfSubgroup(object, subgroup);
    if (!name) continue;
    const auto job =
        client_.Get({{"batch", "v1", "jobs", "Job", true}, key.namespace_name, *name, ""});
    if (!job.ok()) continue;
    for (const int index : EndedIndexes(*job)) ended.push_back({subgroup, index});
  }
  std::sort(ended.begin(), ended.end());
  return ended;
}

}  // namespace yardmaster::extender
