#include "pkg/extender/gatherer.h"

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

void Gatherer::Update(const state::ObjectTable<api::Pod>& pods) {
  state::ObjectTable<api::Pod>::Differences(pods_, pods,
                                            [this](const PodPtr& before, const PodPtr& after) {
                                              if (before != nullptr) Remove(*before);
                                              if (after != nullptr) Add(after);
                                            });
  pods_ = pods;
}

void Gatherer::Add(const PodPtr& pod) {
  if (!api::WantsGang(*pod)) return;
  const api::ObjectMeta& meta = pod->metadata;
  auto membership = api::ResolveMembership(*pod);
  if (!membership.ok() || !*membership) {
    problems_[{meta.namespace_name, meta.name}] = StrCat(
        "Pod ", meta.namespace_name, "/", meta.name, ": ",
        membership.ok()
            ? StrCat("wants a gang, and no label says which; use a kind of job whose pods ",
                     "carry their index, or label them ", api::kJobLabel, " and ", api::kRankLabel)
            : MessageOf(membership.status()));
    return;
  }
  const api::Membership& member = **membership;
  Kept& kept = gangs_[{meta.namespace_name, member.gang_name, member.owner.uid}];
  kept.gang = nullptr;
  if (pod->finished()) {
    ++kept.finished;
  } else {
    kept.members.insert_or_assign(meta.name, GangMember{pod, **std::move(membership), {}});
  }
}

void Gatherer::Remove(const api::Pod& pod) {
  if (!api::WantsGang(pod)) return;
  const api::ObjectMeta& meta = pod.metadata;
  const auto membership = api::ResolveMembership(pod);
  if (!membership.ok() || !*membership) {
    problems_.erase({meta.namespace_name, meta.name});
    return;
  }
  const auto at =
      gangs_.find({meta.namespace_name, (*membership)->gang_name, (*membership)->owner.uid});
  Kept& kept = at->second;
  kept.gang = nullptr;
  if (pod.finished()) {
    --kept.finished;
  } else {
    kept.members.erase(meta.name);
  }
  if (kept.members.empty() && kept.finished == 0) gangs_.erase(at);
}

GatheredGang Gatherer::Compose(const Id& id, const Kept& kept) {
  GatheredGang gang;
  std::tie(gang.namespace_name, gang.name, gang.owner_uid) = id;
  gang.finished = kept.finished;
  gang.members.reserve(kept.members.size());
  for (const auto& [name, member] : kept.members) {
    gang.members.push_back(member);
    gang.gated += member.pod->gated() ? 1 : 0;
    gang.unbound += member.pod->node_name.empty() ? 1 : 0;
    gang.deleted += member.pod->metadata.deleted_ms ? 1 : 0;
  }
  return gang;
}

std::vector<std::shared_ptr<const GatheredGang>> Gatherer::Gangs(const BasesOf& bases_of) {
  std::vector<std::shared_ptr<const GatheredGang>> out;
  out.reserve(gangs_.size());
  for (auto& [id, kept] : gangs_) {
    const std::vector<api::RankBase>* bases =
        bases_of(std::get<0>(id), std::get<1>(id), std::get<2>(id));
    const bool same = bases == nullptr ? !kept.bases.has_value()
                                       : kept.bases.has_value() && *kept.bases == *bases;
    if (kept.gang == nullptr || !same) {
      GatheredGang gang = Compose(id, kept);
      kept.bases.reset();
      if (bases != nullptr) {
        AssignRanks(*bases, gang);
        kept.bases = *bases;
      }
      kept.gang = std::make_shared<const GatheredGang>(std::move(gang));
    }
    out.push_back(kept.gang);
  }
  return out;
}

std::vector<std::string> Gatherer::Problems() const {
  std::vector<std::string> out;
  for (const auto& [pod, problem] : problems_) out.push_back(problem);
  return out;
}

namespace {

template <typename Pods>
Gathered GatherOnce(const Pods& pods) {
  Gatherer gatherer;
  for (const PodPtr& pod : pods) gatherer.Add(pod);
  Gathered out;
  for (const auto& gang :
       gatherer.Gangs([](const auto&, const auto&, const auto&) { return nullptr; })) {
    out.gangs.push_back(*gang);
  }
  out.problems = gatherer.Problems();
  return out;
}

}  // namespace

Gathered Gather(const std::vector<PodPtr>& pods) { return GatherOnce(pods); }
Gathered Gather(const state::ObjectTable<api::Pod>& pods) { return GatherOnce(pods); }

}  // namespace yardmaster::extender
