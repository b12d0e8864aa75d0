#include "pkg/gather/gatherer.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "pkg/api/names.h"
#include "pkg/api/unnumbered_pod.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/gather/owner_state.h"

namespace yardmaster::gather {

void Gatherer::Update(const state::ObjectTable<api::Pod>& pods) {
  state::ObjectTable<api::Pod>::Differences(
      pods_, pods, [this](const PodPtr& before, const PodPtr& after) {
        const auto at = before == nullptr ? places_.end() : places_.find(before.get());
        if (at != places_.end() && after != nullptr && Replace(at, after)) return;
        if (before != nullptr) Remove(*before, at);
        if (after != nullptr) Add(after);
      });
  pods_ = pods;
}

bool Gatherer::IsForUs(const api::Pod& pod) const {
  return api::WantsGang(pod) && (ungated_ == Ungated::kGather || CameBehindGate(pod));
}

void Gatherer::Problem(const api::Pod& pod, std::string text) {
  const api::ObjectMeta& meta = pod.metadata;
  PodProblem& problem = problems_[KeyOf(meta)];
  const std::string before = problem.text.empty()
                                 ? StrCat("Pod ", meta.namespace_name, "/", meta.name, ": ")
                                 : problem.text + "; ";
  problem = {meta.namespace_name, meta.name, meta.uid, before + text};
}

std::optional<api::Membership> Gatherer::MembershipOf(const api::Pod& pod,
                                                      std::string& problem) const {
  return Checked(pod, api::ResolveMembership(pod), problem);
}

std::optional<api::Membership> Gatherer::Checked(const api::Pod& pod, const Resolved& membership,
                                                 std::string& problem) const {
  if (!membership.ok()) {
    problem = MessageOf(membership.status());
    return std::nullopt;
  }
  if (!*membership) {
    problem =
        "wants a gang, and no label says which; use a kind of job whose pods carry their index";
    return std::nullopt;
  }
  const api::OwnerReference& owner = (*membership)->owner;
  const bool has_controller = pod.metadata.controller() != nullptr;
  const bool is_plain = !has_controller && owner.kind == api::kPlainPodKind;
  if (orphans_ == Orphans::kRefuse && !has_controller && !is_plain) {
    problem = StrCat("its labels name ", owner.kind, " ", owner.name,
                     " and it has no controller; remove the copied labels, let the ", owner.kind,
                     " make the pod, or say by ", api::kGangSizeAnnotation, ", ", api::kJobLabel,
                     " and ", api::kRankLabel, " that pods without a controller are a gang");
    return std::nullopt;
  }
  if (has_controller && !ResourceOfOwner(owner)) {
    problem = StrCat("its controller is ", owner.kind, " ", owner.name, " of ", owner.api_version,
                     ", and pods of that kind are in no gang, because nothing says when it has ",
                     "ended; let a kind that docs/crds.md names make the pod, or make it ",
                     "without a controller");
    return std::nullopt;
  }
  return *membership;
}

bool Gatherer::AddUnnumbered(const PodPtr& pod) {
  const Resolved resolved = api::ResolveUnnumbered(*pod);
  if (resolved.ok() && !*resolved) return false;
  std::string problem;
  const auto membership = Checked(*pod, resolved, problem);
  const api::ObjectMeta& meta = pod->metadata;
  if (!membership) {
    Problem(*pod, std::move(problem));
  } else if (!pod->finished() && !meta.deleted_ms) {
    unnumbered_[KeyOf(meta)] = {
        pod, {meta.namespace_name, membership->gang_name}, membership->owner.uid};
  }
  return true;
}

bool Gatherer::Replace(Places::iterator at, const PodPtr& after) {
  const api::Pod& before = *at->first;
  if (after->finished() || !before.problems.empty() || !after->problems.empty()) return false;
  if (!api::SameMembershipInputs(before, *after)) return false;
  if (ungated_ == Ungated::kLeave && IsForUs(before) != IsForUs(*after)) return false;
  at->second.gang->second.gang = nullptr;
  at->second.member->second.pod = after;
  auto place = places_.extract(at);
  place.key() = after.get();
  places_.insert(std::move(place));
  return true;
}

void Gatherer::Add(const PodPtr& pod) {
  if (!pod->problems.empty()) Problem(*pod, Join(pod->problems, "; "));
  const api::ObjectMeta& meta = pod->metadata;
  const bool wants_gang = IsForUs(*pod);
  if (!wants_gang && pod->gated() && !pod->gated_by_others() && !meta.deleted_ms &&
      pod->gpus() == 0) {
    idle_[KeyOf(meta)] = pod;
  }
  if (!wants_gang && meta.deleted_ms && !pod->node_name.empty() && !pod->finished() &&
      pod->gpus() > 0) {
    leaving_alone_[KeyOf(meta)] = pod;
  }
  if (!wants_gang || AddUnnumbered(pod)) return;
  std::string problem;
  std::optional<api::Membership> membership = MembershipOf(*pod, problem);
  if (!membership) return Problem(*pod, std::move(problem));
  const api::Membership& member = *membership;
  const auto gang =
      gangs_.try_emplace({meta.namespace_name, member.gang_name, member.owner.uid}).first;
  Kept& kept = gang->second;
  kept.gang = nullptr;
  if (pod->finished()) {
    ++kept.finished;
    const Replica replica{member.subgroup, member.index};
    if (pod->phase == "Succeeded") ++kept.succeeded[replica];
    if (SaysEnded(*pod, member.owner)) ++kept.ended[replica];
    return;
  }
  auto shared = std::make_shared<const api::Membership>(*std::move(membership));
  // Pods come by name when there are many.
  const auto at = kept.members.insert_or_assign(kept.members.end(), meta.name,
                                                GangMember{pod, std::move(shared), {}});
  places_.insert_or_assign(pod.get(), Place{gang, at});
}

void Gatherer::Remove(const api::Pod& pod, Places::iterator at) {
  // These are nearly always empty; then no key is made.
  if (!problems_.empty()) problems_.erase(KeyOf(pod.metadata));
  if (!idle_.empty()) idle_.erase(KeyOf(pod.metadata));
  if (!leaving_alone_.empty()) leaving_alone_.erase(KeyOf(pod.metadata));
  if (!unnumbered_.empty()) unnumbered_.erase(KeyOf(pod.metadata));
  if (pod.finished()) return RemoveFinished(pod);
  if (at == places_.end()) return;
  const auto [gang, member] = at->second;
  places_.erase(at);
  Kept& kept = gang->second;
  kept.gang = nullptr;
  kept.members.erase(member);
  if (kept.members.empty() && kept.finished == 0) gangs_.erase(gang);
}

void Gatherer::RemoveFinished(const api::Pod& pod) {
  if (!IsForUs(pod)) return;
  std::string problem;
  const std::optional<api::Membership> membership = MembershipOf(pod, problem);
  if (!membership) return;
  const api::Membership& member = *membership;
  const auto at = gangs_.find({pod.metadata.namespace_name, member.gang_name, member.owner.uid});
  if (at == gangs_.end()) return;
  Kept& kept = at->second;
  kept.gang = nullptr;
  --kept.finished;
  const auto forget = [&member](std::map<Replica, int>& pods) {
    const auto replica = pods.find({member.subgroup, member.index});
    if (--replica->second == 0) pods.erase(replica);
  };
  if (pod.phase == "Succeeded") forget(kept.succeeded);
  if (SaysEnded(pod, member.owner)) forget(kept.ended);
  if (kept.members.empty() && kept.finished == 0) gangs_.erase(at);
}

namespace {

// Whether `a` is the pod of its rank rather than `b`.
bool IsNewer(const api::Pod& a, const api::Pod& b) {
  const auto key = [](const api::Pod& pod) {
    return std::tuple(!pod.metadata.deleted_ms.has_value(), pod.metadata.created_ms, pod.gated(),
                      std::string_view(pod.metadata.name));
  };
  return key(a) > key(b);
}

// By position: whether that member is the newest pod of its index in its subgroup.
std::vector<bool> NewestPods(const std::vector<const GangMember*>& members) {
  const auto place = [&](std::size_t m) {
    const api::Membership& membership = *members[m]->membership;
    return std::tuple(membership.index, std::string_view(membership.subgroup));
  };
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto of_a = place(a), of_b = place(b);
    return of_a != of_b ? of_a < of_b : IsNewer(*members[a]->pod, *members[b]->pod);
  });
  std::vector<bool> newest(members.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    newest[order[i]] = i == 0 || place(order[i - 1]) != place(order[i]);
  }
  return newest;
}

}  // namespace

GatheredGang Gatherer::Compose(const Id& id, const Kept& kept) {
  GatheredGang gang;
  std::tie(gang.namespace_name, gang.name, gang.owner_uid) = id;
  gang.finished = kept.finished;
  gang.succeeded = static_cast<int>(kept.succeeded.size());
  std::vector<const GangMember*> members;  // by name
  members.reserve(kept.members.size());
  for (const auto& [name, member] : kept.members) {
    if (gang.root.uid.empty()) gang.root = member.membership->root;
    members.push_back(&member);
  }
  const std::vector<bool> newest = NewestPods(members);
  gang.members.reserve(members.size());
  for (std::size_t m = 0; m < members.size(); ++m) {
    const GangMember& member = *members[m];
    if (!newest[m] || member.pod->metadata.deleted_ms) {
      gang.leaving.push_back(member);
      continue;
    }
    gang.members.push_back(member);
    gang.gated += member.pod->gated() ? 1 : 0;
    gang.unbound += member.pod->node_name.empty() ? 1 : 0;
    gang.held_by_others += member.pod->gated_by_others() ? 1 : 0;
  }
  if (!kept.ended.empty() || !kept.ended_by_owner.empty()) gang.ended = EndedOf(gang, kept);
  return gang;
}

std::vector<Replica> Gatherer::EndedOf(const GatheredGang& gang, const Kept& kept) {
  std::set<Replica> ended(kept.ended_by_owner.begin(), kept.ended_by_owner.end());
  for (const auto& [replica, pods] : kept.ended) ended.insert(replica);
  for (const GangMember& member : gang.members) {
    ended.erase({member.membership->subgroup, member.membership->index});
  }
  return {ended.begin(), ended.end()};
}

bool Gatherer::NoteEnded(const GatheredGang& pods, std::vector<Replica> ended) {
  const auto at = gangs_.find({pods.namespace_name, pods.name, pods.owner_uid});
  if (at == gangs_.end() || at->second.ended_by_owner == ended) return false;
  at->second.ended_by_owner = std::move(ended);
  at->second.gang = nullptr;
  return true;
}

std::vector<std::shared_ptr<const GatheredGang>> Gatherer::Gangs(const GangOf& gang_of) {
  std::vector<std::shared_ptr<const GatheredGang>> out;
  out.reserve(gangs_.size());
  for (auto& [id, kept] : gangs_) {
    std::optional<GatheredGang> fresh;
    if (kept.gang == nullptr) fresh = Compose(id, kept);
    const api::Gang* known = gang_of(fresh ? *fresh : *kept.gang);
    const bool same = known == nullptr
                          ? !kept.bases.has_value()
                          : kept.bases.has_value() && *kept.bases == known->rank_bases &&
                                kept.workers == known->job.workers;
    if (fresh || !same) {
      if (!fresh) fresh = Compose(id, kept);
      kept.bases.reset();
      if (known != nullptr) {
        AssignRanks(known->rank_bases, known->job.workers, *fresh);
        kept.bases = known->rank_bases;
        kept.workers = known->job.workers;
      }
      kept.gang = std::make_shared<const GatheredGang>(*std::move(fresh));
    }
    out.push_back(kept.gang);
  }
  return out;
}

std::vector<PodPtr> Gatherer::Idle() const {
  std::vector<PodPtr> out;
  for (const auto& [key, pod] : idle_) out.push_back(pod);
  return out;
}

std::vector<PodPtr> Gatherer::LeavingAlone() const {
  std::vector<PodPtr> out;
  for (const auto& [key, pod] : leaving_alone_) out.push_back(pod);
  return out;
}

std::vector<UnnumberedPod> Gatherer::Unnumbered() const {
  std::vector<UnnumberedPod> out;
  for (const auto& [key, pod] : unnumbered_) out.push_back(pod);
  return out;
}

std::vector<PodProblem> Gatherer::Problems() const {
  std::vector<PodProblem> out;
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
       gatherer.Gangs([](const GatheredGang&) -> const api::Gang* { return nullptr; })) {
    out.gangs.push_back(*gang);
  }
  out.problems = gatherer.Problems();
  return out;
}

}  // namespace

Gathered Gather(const std::vector<PodPtr>& pods) { return GatherOnce(pods); }
Gathered Gather(const state::ObjectTable<api::Pod>& pods) { return GatherOnce(pods); }

bool NoneOfItCanRun(const NamespacedName& gang, const std::vector<PodPtr>& pods) {
  Gatherer gatherer(Orphans::kRefuse);
  for (const PodPtr& pod : pods) gatherer.Add(pod);
  const auto gangs =
      gatherer.Gangs([](const GatheredGang&) -> const api::Gang* { return nullptr; });
  return std::all_of(gangs.begin(), gangs.end(),
                     [&](const auto& one) { return one->name != gang.name || NoneCanRun(*one); });
}

}  // namespace yardmaster::gather
