#include "pkg/extender/gather.h"

#include <algorithm>
#include <tuple>

#include "pkg/api/names.h"
#include "pkg/api/parallelism_annotation.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

// As status.assignments of a Gang has it.
constexpr int kMaxWorkers = 16'384;

// What a set of pods of another controller says about itself.
absl::StatusOr<std::optional<api::JobSpec>> SpecOfPods(const GatheredGang& gathered,
                                                       const DeclaredSizes& declared) {
  const api::Pod& first = *gathered.members.front().pod;
  api::JobSpec spec;
  spec.gpus_per_worker = static_cast<int>(first.gpus());
  spec.gpu_resource = first.gpu_resource;
  spec.priority = first.priority;
  spec.may_preempt = first.may_preempt;
  for (const GangMember& member : gathered.members) {
    if (member.pod->gpus() != first.gpus() || first.gpus() < 1 ||
        first.gpus() >= api::kUnreadableGpus || member.pod->gpu_resource != first.gpu_resource) {
      return FieldError(
          StrCat("Pod ", gathered.namespace_name, "/", member.pod->metadata.name,
                 ": spec.containers[].resources"),
          StrCat("asks for ", member.pod->gpus(), " GPUs where another pod of gang ", gathered.name,
                 " asks for ", first.gpus()),
          StrCat("give every worker the same number of ", first.gpu_resource, ", at least 1"));
    }
  }
  std::optional<int> size = gathered.members.front().membership.size;
  api::ParallelismAnnotation parallelism;
  auto annotation = api::Find(first.metadata.annotations, api::kParallelismAnnotation);
  if (annotation) {
    auto parsed = api::ParseParallelism(*annotation);
    if (!parsed.ok()) {
      return Annotate(parsed.status(),
                      StrCat("Pod ", gathered.namespace_name, "/", first.metadata.name,
                             ": metadata.annotations[\"", api::kParallelismAnnotation, "\"]"));
    }
    parallelism = *parsed;
    spec.parallelism_given = true;
    if (!size && parallelism.data_given) {
      size = static_cast<int>(std::min<std::int64_t>(
          parallelism.parallelism.world() / spec.gpus_per_worker, kMaxWorkers + 1));
    }
  }
  if (!size) size = declared.of_group;
  if (declared.of_owner) size = declared.of_owner;
  if (!size) {
    return FieldError(StrCat("gang ", gathered.namespace_name, "/", gathered.name),
                      "its pods do not say how many they are",
                      StrCat("give dp in the annotation ", api::kParallelismAnnotation));
  }
  if (*size < 1 || *size > kMaxWorkers) {
    return FieldError(StrCat("gang ", gathered.namespace_name, "/", gathered.name),
                      StrCat("its pods say that they are ", *size),
                      StrCat("use a size from 1 to ", kMaxWorkers));
  }
  if (static_cast<int>(gathered.members.size()) < *size) return std::optional<api::JobSpec>();
  spec.workers = *size;
  spec.parallelism = parallelism.parallelism;
  if (!parallelism.data_given || declared.of_owner) {
    spec.parallelism.data =
        api::DerivedData(spec.parallelism, std::int64_t{spec.workers} * spec.gpus_per_worker);
  }
  return std::optional<api::JobSpec>(spec);
}

}  // namespace

void AssignRanks(const std::vector<api::RankBase>& bases, int workers, GatheredGang& gang) {
  std::vector<GangMember> members;
  members.swap(gang.members);
  gang.gated = gang.unbound = gang.held_by_others = 0;
  for (GangMember& member : members) {
    const std::optional<int> rank = api::RankOf(bases, member.membership);
    if (!rank || *rank < 0 || *rank >= workers) {
      gang.strays.push_back(std::move(member));
      continue;
    }
    member.rank = rank;
    gang.gated += member.pod->gated() ? 1 : 0;
    gang.unbound += member.pod->node_name.empty() ? 1 : 0;
    gang.held_by_others += member.pod->gated_by_others() ? 1 : 0;
    gang.members.push_back(std::move(member));
  }
  std::sort(gang.members.begin(), gang.members.end(), [](const GangMember& a, const GangMember& b) {
    return std::tie(a.rank, a.pod->metadata.name) < std::tie(b.rank, b.pod->metadata.name);
  });
  gang.whole = 0;
  for (const GangMember& member : gang.members) {
    if (*member.rank == gang.whole) {
      ++gang.whole;
    } else {
      gang.whole = -1;
      return;
    }
  }
}

std::vector<PodProblem> StrayProblems(const GatheredGang& gang, int workers) {
  std::vector<PodProblem> problems;
  for (const GangMember& stray : gang.strays) {
    const api::Membership& member = stray.membership;
    const api::ObjectMeta& pod = stray.pod->metadata;
    problems.push_back(
        {pod.namespace_name, pod.name, pod.uid,
         StrCat("Pod ", pod.namespace_name, "/", pod.name, ": its index ", member.index,
                member.subgroup.empty() ? std::string() : StrCat(" in ", member.subgroup),
                " lies outside gang ", gang.name, ", which was placed with ",
                Count(workers, "worker"),
                "; remove labels that were copied to it, or, where the job was scaled, suspend the "
                "job, ",
                "set ", api::kParallelismAnnotation, " to the new size, and resume it")});
  }
  return problems;
}

bool IsSameLife(const api::Gang& gang, const GatheredGang& gathered) {
  if (!gathered.owner_uid.empty()) return gang.owner.uid == gathered.owner_uid;
  // Of kinds whose pods do not know the owner's uid: the object that the Gang is collected with.
  if (gathered.root.uid.empty() || gang.metadata.owners.empty()) return true;
  return std::any_of(
      gang.metadata.owners.begin(), gang.metadata.owners.end(),
      [&](const api::OwnerReference& owner) { return owner.uid == gathered.root.uid; });
}

bool AllGated(const GatheredGang& gang) {
  const auto gated = [](const GangMember& member) { return member.pod->gated(); };
  return std::all_of(gang.members.begin(), gang.members.end(), gated) &&
         std::all_of(gang.leaving.begin(), gang.leaving.end(), gated) &&
         std::all_of(gang.strays.begin(), gang.strays.end(), gated);
}

std::vector<PodPtr> Evictable(const GatheredGang* gang) {
  std::vector<PodPtr> pods;
  if (gang == nullptr) return pods;
  for (const auto* list : {&gang->members, &gang->leaving, &gang->strays}) {
    for (const GangMember& member : *list) {
      if (!member.pod->gated() && !member.pod->metadata.deleted_ms) pods.push_back(member.pod);
    }
  }
  return pods;
}

namespace {

// Pods that go on where the size ends say that the size is wrong. Strays further out are copies.
absl::Status TooMany(const GatheredGang& ranked, const std::vector<api::RankBase>& bases,
                     int workers) {
  int pods = static_cast<int>(ranked.members.size());
  bool go_on = false;
  for (const GangMember& stray : ranked.strays) {
    const std::optional<int> rank = api::RankOf(bases, stray.membership);
    go_on |= rank == workers;
    pods += rank && *rank >= workers ? 1 : 0;
  }
  if (!go_on) return absl::OkStatus();
  return FieldError(StrCat("gang ", ranked.namespace_name, "/", ranked.name),
                    StrCat("its pods say that they are ", workers, " and there are ", pods),
                    StrCat("count all pods of the job in ", api::kParallelismAnnotation));
}

// A set that is large enough and still lacks a pod of some rank will not be complete: an error.
absl::Status Gaps(const GatheredGang& ranked, int workers) {
  const int size = static_cast<int>(ranked.members.size() + ranked.strays.size());
  if (size < workers) return absl::OkStatus();
  int rank = 0;
  for (const GangMember& member : ranked.members) {
    if (*member.rank != rank) break;
    ++rank;
  }
  std::string why =
      StrCat("rank ", rank, " of ", workers, " has no pod although there are ", Count(size, "pod"));
  if (!ranked.strays.empty()) {
    const GangMember& stray = ranked.strays.front();
    why += StrCat("; pod ", stray.pod->metadata.name, " has the index ", stray.membership.index);
  }
  return FieldError(StrCat("gang ", ranked.namespace_name, "/", ranked.name), why,
                    "give every pod its own index, from 0 without a gap, and remove pods whose "
                    "labels were copied");
}

}  // namespace

std::vector<workload::Role> RolesOf(const GatheredGang& ranked) {
  // As spec.roles of a Gang has it. Of pods that differ more the largest of each resource counts.
  constexpr std::size_t kMaxRoles = 16;
  std::vector<workload::Role> roles;
  for (const GangMember& member : ranked.members) {
    const workload::ResourceList& requests = member.pod->requests;
    if (roles.empty() || roles.back().requests != requests) {
      roles.push_back({*member.rank, requests});
    }
    if (roles.size() > kMaxRoles) return {};
  }
  if (roles.size() == 1) roles.clear();
  return roles;
}

absl::StatusOr<std::optional<api::Gang>> MakeGang(const GatheredGang& gathered,
                                                  const api::TrainingJob* job,
                                                  const DeclaredSizes& declared) {
  if (gathered.members.empty() || gathered.held_by_others > 0) return std::optional<api::Gang>();
  api::Gang gang;
  const GangMember& first = gathered.members.front();
  gang.owner = first.membership.owner;
  if (job != nullptr) {
    gang.job = job->job;
    // Left out: that of the PriorityClass in the pod template, as admission wrote it into the pods.
    if (gang.job.priority == 0) gang.job.priority = first.pod->priority;
    gang.job.may_preempt = job->job.may_preempt && first.pod->may_preempt;
    gang.constraints = job->constraints;
  } else {
    YM_ASSIGN_OR_RETURN(std::optional<api::JobSpec> spec, SpecOfPods(gathered, declared));
    if (!spec) return std::optional<api::Gang>();
    gang.job = *spec;
    gang.constraints = first.pod->constraints;
  }
  std::vector<api::Membership> memberships;
  for (const GangMember& member : gathered.members) {
    memberships.push_back(member.membership);
    workload::RaiseAmounts(gang.requests, member.pod->requests);
  }
  gang.rank_bases = api::RankBasesOf(memberships);
  GatheredGang ranked = gathered;
  AssignRanks(gang.rank_bases, gang.job.workers, ranked);
  YM_RETURN_IF_ERROR(TooMany(ranked, gang.rank_bases, gang.job.workers));
  if (!IsComplete(ranked, gang.job.workers)) {
    YM_RETURN_IF_ERROR(Gaps(ranked, gang.job.workers));
    return std::optional<api::Gang>();
  }
  gang.roles = RolesOf(ranked);

  gang.metadata.name = gathered.name;
  gang.metadata.namespace_name = gathered.namespace_name;
  // Not as controller: a Job keeps its own; the reference is there for garbage collection.
  api::OwnerReference root = gathered.root;
  root.controller = false;
  if (!root.uid.empty()) gang.metadata.owners = {root};
  if (gang.owner.uid.empty() && root.kind == gang.owner.kind) gang.owner.uid = root.uid;
  return std::optional<api::Gang>(std::move(gang));
}

}  // namespace yardmaster::extender
