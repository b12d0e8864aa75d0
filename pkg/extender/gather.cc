#include "pkg/extender/gather.h"

#include <algorithm>
#include <tuple>

#include "pkg/api/names.h"
#include "pkg/api/parallelism_annotation.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

// What a set of pods of another controller says about itself.
absl::StatusOr<std::optional<api::JobSpec>> SpecOfPods(const GatheredGang& gathered) {
  const api::Pod& first = *gathered.members.front().pod;
  api::JobSpec spec;
  spec.gpus_per_worker = static_cast<int>(first.gpus());
  spec.gpu_resource = first.gpu_resource;
  spec.priority = first.priority;
  spec.may_preempt = first.may_preempt;
  for (const GangMember& member : gathered.members) {
    if (member.pod->gpus() != first.gpus() || first.gpus() < 1 ||
        member.pod->gpu_resource != first.gpu_resource) {
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
      size = static_cast<int>(parallelism.parallelism.world() / spec.gpus_per_worker);
    }
  }
  if (!size) {
    return FieldError(StrCat("gang ", gathered.namespace_name, "/", gathered.name),
                      "its pods do not say how many they are",
                      StrCat("give dp in the annotation ", api::kParallelismAnnotation));
  }
  if (static_cast<int>(gathered.members.size()) + gathered.finished < *size) {
    return std::optional<api::JobSpec>();
  }
  spec.workers = *size;
  spec.parallelism = parallelism.parallelism;
  if (!parallelism.data_given) {
    spec.parallelism.data =
        api::DerivedData(spec.parallelism, std::int64_t{spec.workers} * spec.gpus_per_worker);
  }
  return std::optional<api::JobSpec>(spec);
}

}  // namespace

void AssignRanks(const std::vector<api::RankBase>& bases, GatheredGang& gang) {
  for (GangMember& member : gang.members) member.rank = api::RankOf(bases, member.membership);
  std::sort(gang.members.begin(), gang.members.end(), [](const GangMember& a, const GangMember& b) {
    return std::tie(a.rank, a.pod->metadata.name) < std::tie(b.rank, b.pod->metadata.name);
  });
  gang.whole = 0;
  for (const GangMember& member : gang.members) {
    if (!member.rank) continue;
    if (*member.rank == gang.whole) {
      ++gang.whole;
    } else {
      gang.whole = -1;
      return;
    }
  }
}

std::vector<PodPtr> Evictable(const GatheredGang* gang) {
  std::vector<PodPtr> pods;
  if (gang == nullptr) return pods;
  for (const GangMember& member : gang->members) {
    if (!member.pod->gated() && !member.pod->metadata.deleted_ms) pods.push_back(member.pod);
  }
  return pods;
}

absl::StatusOr<std::optional<api::Gang>> MakeGang(const GatheredGang& gathered,
                                                  const api::TrainingJob* job) {
  if (gathered.members.empty()) return std::optional<api::Gang>();
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
    YM_ASSIGN_OR_RETURN(std::optional<api::JobSpec> spec, SpecOfPods(gathered));
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
  AssignRanks(gang.rank_bases, ranked);
  if (!IsComplete(ranked, gang.job.workers)) return std::optional<api::Gang>();

  gang.metadata.name = gathered.name;
  gang.metadata.namespace_name = gathered.namespace_name;
  // Not as controller: a Job keeps its own; the reference is there for garbage collection.
  api::OwnerReference owner = gang.owner;
  owner.controller = false;
  gang.metadata.owners = {owner};
  return std::optional<api::Gang>(std::move(gang));
}

}  // namespace yardmaster::extender
