#include "pkg/gather/incomplete_gang.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/parallelism_annotation.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/gather/gatherer.h"
#include "pkg/gather/owner_state.h"

namespace yardmaster::gather {

namespace {

// How many pods the gang has in all. nullopt: nothing says it.
std::optional<int> StatedSize(const GatheredGang& pods, const DeclaredSizes& declared) {
  if (declared.of_owner) return declared.of_owner;
  const GangMember& first = pods.members.front();
  if (first.membership->size) return first.membership->size;
  const std::int64_t gpus = first.pod->gpus();
  const auto alike = [gpus](const GangMember& member) { return member.pod->gpus() == gpus; };
  if (gpus == 0 || !std::all_of(pods.members.begin(), pods.members.end(), alike)) {
    return declared.of_group;
  }
  for (const GangMember& member : pods.members) {
    const auto text = api::Find(member.pod->metadata.annotations, api::kParallelismAnnotation);
    if (!text) continue;
    const auto stated = api::ParseParallelism(*text);
    if (!stated.ok() || !stated->data_given) break;
    const std::int64_t pods_in_all = stated->parallelism.world() / gpus;
    return static_cast<int>(std::min<std::int64_t>(pods_in_all, INT32_MAX));
  }
  return declared.of_group;
}

// The pods do not say how many they are, and nothing else is wrong with them: their owner may say
// it (owner_size.h).
bool OnlyLacksItsSize(const GatheredGang& pods, const api::TrainingJob* job,
                      const DeclaredSizes& declared) {
  const api::OwnerReference& owner = pods.members.front().membership->owner;
  if (StatedSize(pods, declared) || !ResourceOfOwner(owner)) return false;
  DeclaredSizes larger = declared;
  larger.of_owner = static_cast<int>(pods.members.size() + pods.ended.size()) + 1;
  return MakeGang(pods, job, larger).ok();
}

// "kueue.x-k8s.io/admission", of all members: the first three by name.
std::string GatesOfOthers(const GatheredGang& pods) {
  constexpr std::size_t kNamed = 3;
  std::set<std::string_view> gates;
  bool more = false;
  for (const GangMember& member : pods.members) {
    for (const std::string& gate : member.pod->scheduling_gates) {
      if (gate != api::kPlacementGate) gates.insert(gate);
      if (gates.size() <= kNamed) continue;
      gates.erase(std::prev(gates.end()));
      more = true;
    }
  }
  const std::vector<std::string> named(gates.begin(), gates.end());
  return StrCat(Join(named, ", "), more ? " and others" : "");
}

std::string HeldText(const GatheredGang& pods) {
  return StrCat(pods.held_by_others == 1 ? "the gate " : "gates ", "of another controller hold",
                pods.held_by_others == 1 ? "s " : " ", Count(pods.held_by_others, "pod"), ": ",
                GatesOfOthers(pods));
}

// Where ranks begin follows from the pods that are there only where these are of one subgroup, the
// first.
std::vector<api::RankBase> BasesOf(const GatheredGang& pods) {
  const std::string& subgroup = pods.members.front().membership->subgroup;
  const auto is_of_it = [&](const GangMember& m) { return m.membership->subgroup == subgroup; };
  const bool is_first = subgroup.empty() || subgroup == "0";
  if (!is_first || !std::all_of(pods.members.begin(), pods.members.end(), is_of_it)) return {};
  return {{subgroup, 0}};
}

// Without a pod, ascending. REQUIRES: bases.
std::vector<int> MissingRanks(const GatheredGang& pods, const std::vector<api::RankBase>& bases,
                              int wanted) {
  std::vector<char> has(static_cast<std::size_t>(wanted), 0);
  const auto note = [&](const std::string& subgroup, int index) {
    const auto rank = api::RankOf(bases, subgroup, index);
    if (rank && *rank >= 0 && *rank < wanted) has[static_cast<std::size_t>(*rank)] = 1;
  };
  for (const GangMember& m : pods.members) note(m.membership->subgroup, m.membership->index);
  for (const Replica& replica : pods.ended) note(replica.subgroup, replica.index);
  std::vector<int> missing;
  for (int rank = 0; rank < wanted; ++rank) {
    if (has[static_cast<std::size_t>(rank)] == 0) missing.push_back(rank);
  }
  return missing;
}

// "1 of 4 pods are there, ranks 1-3 are missing".
std::string CountText(const GatheredGang& pods, const std::vector<api::RankBase>& bases,
                      IncompleteGang& gang) {
  if (!gang.wanted) {
    return StrCat(Count(gang.there, "pod"), gang.there == 1 ? " is" : " are",
                  " there and more belong to it");
  }
  std::string which;
  if (!bases.empty() && *gang.wanted <= api::kMaxListedRanks) {
    const std::vector<int> missing = MissingRanks(pods, bases, *gang.wanted);
    gang.there = *gang.wanted - static_cast<int>(missing.size());
    which = StrCat(missing.size() == 1 ? ", rank " : ", ranks ", RunsOf(missing));
  }
  const int missing = *gang.wanted - gang.there;
  if (missing > 0 && which.empty()) which = StrCat(", ", missing);
  if (missing <= 0) which.clear();
  return StrCat(gang.there, " of ", Count(*gang.wanted, "pod"),
                *gang.wanted == 1 ? " is there" : " are there", which,
                which.empty()  ? ""
                : missing == 1 ? " is missing"
                               : " are missing");
}

// Who makes the missing pods, and where to look.
std::string WaitText(const GatheredGang& pods, const api::OwnerReference& owner) {
  if (owner.kind == api::kPlainPodKind) {
    return StrCat("create the others with the labels ", api::kJobLabel, " and ", api::kRankLabel);
  }
  std::string kind = owner.kind;
  for (char& c : kind) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string text = StrCat(owner.kind, " ", owner.name, " makes them; kubectl describe ", kind,
                            " ", owner.name, " -n ", pods.namespace_name, " says why it has not");
  if (pods.leaving.empty()) return text;
  const auto leaving = static_cast<std::int64_t>(pods.leaving.size());
  return StrCat(Count(leaving, "pod"), leaving == 1 ? " is" : " are", " still ending; ", text);
}

std::string TextOf(const GatheredGang& pods, const std::vector<api::RankBase>& bases,
                   std::string_view why, IncompleteGang& gang) {
  std::vector<std::string> parts = {CountText(pods, bases, gang)};
  const bool is_held = gang.cause == Incompleteness::kHeldByOthers;
  if (is_held) parts.push_back(HeldText(pods));
  if (!is_held || !gang.wanted || gang.there < *gang.wanted) {
    parts.push_back(why.empty() ? WaitText(pods, gang.owner) : std::string(why));
  }
  return Join(parts, "; ");
}

}  // namespace

std::string_view Name(Incompleteness cause) {
  static constexpr std::string_view kNames[] = {"Incomplete", "HeldByOthers", "Invalid"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::string RunsOf(const std::vector<int>& numbers) {
  constexpr std::size_t kMaxRuns = 8;
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < numbers.size();) {
    if (runs.size() == kMaxRuns) {
      return StrCat(Join(runs, ","), ",... (", numbers.size(), " in all)");
    }
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    runs.push_back(end - i == 1 ? StrCat(numbers[i]) : StrCat(numbers[i], "-", numbers[end - 1]));
    i = end;
  }
  return Join(runs, ",");
}

std::optional<IncompleteGang> IncompletenessOf(const GatheredGang& gathered, const api::Gang* gang,
                                               const api::TrainingJob* job,
                                               const DeclaredSizes& declared,
                                               std::string_view why) {
  if (gathered.members.empty() && gathered.strays.empty()) return std::nullopt;
  const GatheredGang pods = WithOpenRanks(gathered);
  const GangMember& first = pods.members.front();
  IncompleteGang out;
  out.gang = {pods.namespace_name, pods.name};
  out.owner = first.membership->owner;
  out.there = static_cast<int>(pods.members.size() + pods.ended.size());
  out.priority = first.pod->priority;
  for (const GangMember& member : pods.members) out.gpus += static_cast<int>(member.pod->gpus());
  if (pods.held_by_others > 0) out.cause = Incompleteness::kHeldByOthers;
  std::vector<api::RankBase> bases;
  if (gang != nullptr) {
    GatheredGang ranked = pods;
    AssignRanks(gang->rank_bases, gang->job.workers, ranked);
    if (IsComplete(ranked, gang->job.workers) && pods.held_by_others == 0) return std::nullopt;
    out.wanted = gang->job.workers;
    bases = gang->rank_bases;
  } else {
    const auto made = MakeGang(pods, job, declared);
    if (made.ok() && *made) return std::nullopt;
    if (!made.ok() && !OnlyLacksItsSize(pods, job, declared)) {
      out.cause = Incompleteness::kInvalid;
      out.text = MessageOf(made.status());
      return out;
    }
    out.wanted = job != nullptr ? std::optional(job->job.workers) : StatedSize(pods, declared);
    bases = BasesOf(pods);
  }
  out.text = TextOf(pods, bases, why, out);
  return out;
}

std::vector<IncompleteGang> IncompleteGangsOf(const state::ClusterState& cluster) {
  std::set<std::string> namespaces;
  for (const auto& pod : cluster.pods) {
    const bool waits = pod->node_name.empty() && !pod->finished() && !pod->metadata.deleted_ms;
    if (waits && api::WantsGang(*pod)) namespaces.insert(pod->metadata.namespace_name);
  }
  std::vector<IncompleteGang> out;
  if (namespaces.empty()) return out;
  Gatherer gatherer(Orphans::kRefuse);
  for (const auto& pod : cluster.pods) {
    if (namespaces.count(pod->metadata.namespace_name) != 0) gatherer.Add(pod);
  }
  for (const auto& pods : gatherer.Gangs([](const GatheredGang&) { return nullptr; })) {
    if (pods->unbound == 0) continue;
    const auto gang = cluster.gangs.Find({pods->namespace_name, pods->name});
    if (gang != nullptr && (gang->status.committed() || !IsSameLife(*gang, *pods))) continue;
    const api::OwnerReference& owner = pods->members.front().membership->owner;
    const auto job = owner.kind == api::kTrainingJobKind
                         ? cluster.jobs.Find({pods->namespace_name, owner.name})
                         : nullptr;
    if (auto found = IncompletenessOf(*pods, gang.get(), job.get())) {
      out.push_back(*std::move(found));
    }
  }
  return out;
}

}  // namespace yardmaster::gather
