#include "pkg/gather/gather.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/parallelism_annotation.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::gather {

namespace {

// As spec.roles of a Gang has it.
constexpr std::size_t kMaxRoles = 16;

// What errors about a whole gang name.
std::string FieldOf(const GatheredGang& gathered) {
  return StrCat("gang ", gathered.namespace_name, "/", gathered.name);
}

// GPUs of a gang's pods.
struct GpuCount {
  std::string resource;
  int most = 0;                 // of a pod
  bool alike = true;            // every pod asks for the most
  std::int64_t all = 0;         // of all pods
  std::int64_t of_largest = 0;  // of the pods that ask for the most
};

// Errors: InvalidArgument where GPUs cannot be read, are of two resources, or are none at all.
absl::StatusOr<GpuCount> CountGpus(const GatheredGang& gathered) {
  GpuCount out;
  for (const GangMember& member : gathered.members) {
    const api::Pod& pod = *member.pod;
    const auto field = [&] {
      return StrCat("Pod ", gathered.namespace_name, "/", pod.metadata.name,
                    ": spec.containers[].resources");
    };
    if (pod.gpus() >= api::kUnreadableGpus) {
      return FieldError(field(), StrCat("asks for ", pod.gpus(), " GPUs"),
                        StrCat("ask for fewer than ", api::kUnreadableGpus));
    }
    if (pod.gpus() == 0) continue;
    if (out.resource.empty()) out.resource = pod.gpu_resource;
    if (pod.gpu_resource != out.resource) {
      return FieldError(field(),
                        StrCat("asks for ", pod.gpu_resource, " where another pod of gang ",
                               gathered.name, " asks for ", out.resource),
                        "give every worker GPUs of the same resource");
    }
    out.most = std::max(out.most, static_cast<int>(pod.gpus()));
  }
  if (out.most == 0) {
    return FieldError(FieldOf(gathered), "none of its pods asks for a GPU",
                      "give its workers GPUs");
  }
  for (const GangMember& member : gathered.members) {
    const std::int64_t gpus = member.pod->gpus();
    out.alike &= gpus == out.most;
    out.all += gpus;
    if (gpus == out.most) out.of_largest += gpus;
  }
  return out;
}

// The first pod that says its parallelism, else the first one.
const api::Pod& FirstAnnotated(const GatheredGang& gathered) {
  const auto at =
      std::find_if(gathered.members.begin(), gathered.members.end(), [](const GangMember& member) {
        return api::Find(member.pod->metadata.annotations, api::kParallelismAnnotation).has_value();
      });
  return at == gathered.members.end() ? *gathered.members.front().pod : *at->pod;
}

// How many pods have `world` GPUs together; 0: some of them are still to come; nullopt: pods that
// differ have more.
absl::StatusOr<std::optional<int>> PodsOfWorld(const GatheredGang& gathered, const GpuCount& gpus,
                                               std::int64_t world) {
  if (!gpus.alike) {
    if (gpus.all > world) return std::optional<int>();
    return std::optional<int>(gpus.all < world ? 0 : static_cast<int>(gathered.members.size()));
  }
  if (world % gpus.most != 0) {
    return FieldError(
        FieldOf(gathered),
        StrCat("its pods ask for ", gpus.most, " GPUs each and say that they are ", world,
               " together"),
        StrCat("count the GPUs of all its pods in the annotation ", api::kParallelismAnnotation));
  }
  return std::optional<int>(
      static_cast<int>(std::min<std::int64_t>(world / gpus.most, api::kMaxListedRanks + 1)));
}

// The sizes of the annotation multiply to the GPUs of the pods that the owner makes.
absl::Status CheckProduct(const GatheredGang& gathered, const GpuCount& gpus, int size,
                          const workload::Parallelism& p) {
  const std::int64_t world = gpus.alike ? std::int64_t{size} * gpus.most : gpus.all;
  if (p.world() == world || (!gpus.alike && p.world() == gpus.of_largest)) return absl::OkStatus();
  const std::string pods =
      gpus.alike ? StrCat(Count(size, "pod"), " * ", Count(gpus.most, "GPU"), " = ", world)
                 : StrCat(Count(size, "pod"), " have ", world, " GPUs together");
  return FieldError(
      FieldOf(gathered),
      StrCat(api::kParallelismAnnotation, " says tp*cp*dp*pp = ", p.tensor, "*", p.context, "*",
             p.data, "*", p.pipeline, " = ", p.world(), " GPUs, and ", pods),
      "make both equal; left out, dp follows from the number of pods");
}

// What a set of pods of another controller says about itself.
absl::StatusOr<std::optional<api::JobSpec>> SpecOfPods(const GatheredGang& gathered,
                                                       const DeclaredSizes& declared) {
  const api::Pod& first = *gathered.members.front().pod;
  YM_ASSIGN_OR_RETURN(const GpuCount gpus, CountGpus(gathered));
  api::JobSpec spec;
  spec.gpus_per_worker = gpus.most;
  spec.gpu_resource = gpus.resource;
  spec.priority = first.priority;
  spec.may_preempt = first.may_preempt;
  spec.mixed_gpu_models =
      api::Find(first.metadata.annotations, api::kMixedGpuModelsAnnotation) == "true";
  std::optional<int> size = gathered.members.front().membership->size;
  api::ParallelismAnnotation parallelism;
  const api::Pod& annotated = FirstAnnotated(gathered);
  auto annotation = api::Find(annotated.metadata.annotations, api::kParallelismAnnotation);
  if (annotation) {
    auto parsed = api::ParseParallelism(*annotation);
    if (!parsed.ok()) {
      return Annotate(parsed.status(),
                      StrCat("Pod ", gathered.namespace_name, "/", annotated.metadata.name,
                             ": metadata.annotations[\"", api::kParallelismAnnotation, "\"]"));
    }
    parallelism = *parsed;
    spec.parallelism_given = true;
    if (!size && parallelism.data_given) {
      YM_ASSIGN_OR_RETURN(size, PodsOfWorld(gathered, gpus, parallelism.parallelism.world()));
      if (size == 0) return std::optional<api::JobSpec>();
    }
  }
  if (!size) size = declared.of_group;
  if (declared.of_owner) size = declared.of_owner;
  if (!size) {
    if (parallelism.data_given) {
      return FieldError(
          FieldOf(gathered),
          StrCat("its pods ask for different numbers of GPUs, ", gpus.all,
                 " together, and say that they are ", parallelism.parallelism.world()),
          StrCat("count the GPUs of all its pods in the annotation ", api::kParallelismAnnotation));
    }
    return FieldError(FieldOf(gathered),
                      StrCat("its pods do not say how many they are",
                             declared.why_no_group.empty() ? "" : ", and ", declared.why_no_group),
                      StrCat("give dp in the annotation ", api::kParallelismAnnotation));
  }
  if (*size < 1 || *size > api::kMaxListedRanks) {
    return FieldError(FieldOf(gathered), StrCat("its pods say that they are ", *size),
                      StrCat("use a size from 1 to ", api::kMaxListedRanks));
  }
  if (static_cast<int>(gathered.members.size() + gathered.ended.size()) < *size) {
    return std::optional<api::JobSpec>();
  }
  spec.workers = *size;
  spec.parallelism = parallelism.parallelism;
  if (parallelism.data_given && declared.of_owner && !declared.was_scaled) {
    YM_RETURN_IF_ERROR(CheckProduct(gathered, gpus, *size, parallelism.parallelism));
  }
  if (!parallelism.data_given || declared.of_owner) {
    const std::int64_t world =
        gpus.alike ? std::int64_t{spec.workers} * spec.gpus_per_worker : gpus.all;
    spec.parallelism.data = api::DerivedData(spec.parallelism, world);
    // Else those of the largest role, which workload::Job::numbers takes then.
    if (spec.parallelism.world() != world && !gpus.alike) {
      spec.parallelism.data = api::DerivedData(spec.parallelism, gpus.of_largest);
    }
  }
  return std::optional<api::JobSpec>(spec);
}

// Members are in order of their ranks.
int WholeRanks(const std::vector<api::RankBase>& bases, int workers, const GatheredGang& gang) {
  std::set<int> ended;
  for (const Replica& replica : gang.ended) {
    if (const auto rank = api::RankOf(bases, replica.subgroup, replica.index)) ended.insert(*rank);
  }
  int whole = 0;
  const auto skip_ended = [&] {
    while (whole < workers && ended.count(whole) != 0) ++whole;
  };
  for (const GangMember& member : gang.members) {
    skip_ended();
    if (*member.rank != whole) return -1;
    ++whole;
  }
  skip_ended();
  return whole;
}

}  // namespace

GatheredGang WithOpenRanks(GatheredGang gang) {
  std::move(gang.strays.begin(), gang.strays.end(), std::back_inserter(gang.members));
  gang.strays.clear();
  return gang;
}

void AssignRanks(const std::vector<api::RankBase>& bases, int workers, GatheredGang& gang) {
  std::vector<GangMember> members;
  members.swap(gang.members);
  gang.members.reserve(members.size());
  gang.gated = gang.unbound = gang.held_by_others = 0;
  for (GangMember& member : members) {
    const std::optional<int> rank = api::RankOf(bases, *member.membership);
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
  gang.whole = WholeRanks(bases, workers, gang);
}

std::vector<PodProblem> StrayProblems(const GatheredGang& gang, int workers) {
  std::vector<PodProblem> problems;
  for (const GangMember& stray : gang.strays) {
    const api::Membership& member = *stray.membership;
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
  return api::IsOfOwner(gang, gathered.owner_uid, gathered.root.uid);
}

bool NamesHosts(const GatheredGang& gang) {
  return std::any_of(gang.members.begin(), gang.members.end(),
                     [](const GangMember& member) { return !member.pod->selected_host().empty(); });
}

bool CameBehindGate(const api::Pod& pod) {
  return pod.gated() || api::Find(pod.metadata.annotations, api::kSlotAnnotation).has_value();
}

bool IsLeftToCore(const api::Pod& pod) {
  if (pod.pod_group.empty() || pod.gated()) return false;
  // Our release writes this toleration, also into pods that came without the gate.
  return std::none_of(pod.constraints.tolerations.begin(), pod.constraints.tolerations.end(),
                      [](const api::Toleration& t) { return t.key == api::kPromisedKey; });
}

bool IsLeftToCore(const GatheredGang& gang) {
  return std::all_of(gang.members.begin(), gang.members.end(),
                     [](const GangMember& member) { return IsLeftToCore(*member.pod); });
}

bool NoneCanRun(const GatheredGang& gang) {
  // A finalizer of others may keep a pod that the API server binds no more.
  const auto cannot = [](const GangMember& member) {
    const api::Pod& pod = *member.pod;
    return pod.gated() || (pod.metadata.deleted_ms && pod.node_name.empty());
  };
  return std::all_of(gang.members.begin(), gang.members.end(), cannot) &&
         std::all_of(gang.leaving.begin(), gang.leaving.end(), cannot) &&
         std::all_of(gang.strays.begin(), gang.strays.end(), cannot);
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
    const std::optional<int> rank = api::RankOf(bases, *stray.membership);
    go_on |= rank == workers;
    pods += rank && *rank >= workers ? 1 : 0;
  }
  if (!go_on) return absl::OkStatus();
  return FieldError(FieldOf(ranked),
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
    why += StrCat("; pod ", stray.pod->metadata.name, " has the index ", stray.membership->index);
  }
  return FieldError(FieldOf(ranked), why,
                    "give every pod its own index, from 0 without a gap, and remove pods whose "
                    "labels were copied");
}

// Workers of different amounts may be counted as the largest. GPUs may not, because parallelism
// numbers them, nor may nodes, because a rank would get a host that its pod does not select.
absl::Status TooManyRoles(const GatheredGang& ranked) {
  const auto differ = [&](const GangMember& member) {
    return member.pod->gpus() != ranked.members.front().pod->gpus();
  };
  const std::string_view what =
      std::any_of(ranked.members.begin(), ranked.members.end(), differ)
          ? "the numbers of GPUs that its pods ask for change"
          : "the node selectors, affinity or tolerations of its pods change";
  return FieldError(
      FieldOf(ranked), StrCat(what, " too often from rank to rank"),
      StrCat("let pods that are alike follow each other, in at most ", kMaxRoles, " runs"));
}

// The host that a release has written is the last field of every term.
bool IsPin(const std::vector<api::SelectorRequirement>& fields) {
  return !fields.empty() && fields.back().key == "metadata.name" &&
         fields.back().op == api::SelectorOperator::kIn && fields.back().values.size() == 1;
}

// Whether our release may have written into its affinity and tolerations.
bool IsReleased(const api::Pod& pod) {
  return !pod.gated() && api::Find(pod.metadata.annotations, api::kSlotAnnotation).has_value();
}

// Runs of ranks whose pods are alike.
class RunFinder {
 public:
  RunFinder(const GatheredGang& ranked, const api::NodeConstraints* of_gang)
      : ranked_(ranked), of_gang_(of_gang) {}

  // Not `by_requests`: a run's pods may ask for different amounts, and the most of each resource
  // counts. nullopt: more than kMaxRoles.
  std::optional<std::vector<api::GangRole>> Runs(bool by_requests) const {
    std::vector<api::GangRole> runs;
    const api::Pod* before = nullptr;
    for (const GangMember& member : ranked_.members) {
      const api::Pod& pod = *member.pod;
      const bool goes_on = before != nullptr && before->gpus() == pod.gpus() &&
                           (!by_requests || before->requests == pod.requests) &&
                           SameNodes(*before, pod);
      before = &pod;
      if (goes_on) {
        if (!by_requests) workload::RaiseAmounts(runs.back().requests, pod.requests);
        continue;
      }
      if (runs.size() == kMaxRoles) return std::nullopt;
      runs.push_back({*member.rank, pod.requests, static_cast<int>(pod.gpus())});
      if (of_gang_ == nullptr) continue;
      api::NodeConstraints own = OwnConstraints(pod);
      if (own != *of_gang_) runs.back().constraints = std::move(own);
    }
    return runs;
  }

 private:
  bool SameNodes(const api::Pod& a, const api::Pod& b) const {
    if (of_gang_ == nullptr) return true;
    if (!IsReleased(a) && !IsReleased(b)) return a.constraints == b.constraints;
    return OwnConstraints(a) == OwnConstraints(b);
  }

  const GatheredGang& ranked_;
  const api::NodeConstraints* of_gang_;
};

}  // namespace

api::NodeConstraints OwnConstraints(const api::Pod& pod) {
  api::NodeConstraints own = pod.constraints;
  if (!IsReleased(pod)) return own;
  for (api::SelectorTerm& term : own.terms) {
    if (IsPin(term.fields)) term.fields.pop_back();
  }
  const auto is_empty = [](const api::SelectorTerm& term) {
    return term.expressions.empty() && term.fields.empty();
  };
  // A term of the template has requirements, else it would select no node.
  if (!own.terms.empty() && std::all_of(own.terms.begin(), own.terms.end(), is_empty)) {
    own.terms.clear();
    own.has_affinity = false;
  }
  std::erase_if(own.tolerations, [](const api::Toleration& toleration) {
    return (toleration.key == api::kPromisedKey || toleration.key == api::kBackupKey) &&
           toleration.op == api::TolerationOperator::kExists && toleration.effect == "NoSchedule";
  });
  return own;
}

std::optional<std::vector<api::GangRole>> RolesOf(const GatheredGang& ranked,
                                                  const api::NodeConstraints* of_gang) {
  const RunFinder finder(ranked, of_gang);
  std::optional<std::vector<api::GangRole>> roles = finder.Runs(/*by_requests=*/true);
  if (!roles) roles = finder.Runs(/*by_requests=*/false);
  if (!roles) return std::nullopt;
  if (roles->size() == 1) roles->clear();
  // Ranks before the first pod have ended.
  if (!roles->empty()) roles->front().first_rank = 0;
  return roles;
}

namespace {

// What every claim asks for is counted, of one pod each, and GPUs are among it or come otherwise.
absl::Status CheckClaims(const GatheredGang& gathered) {
  std::map<std::string, const api::Pod*> pod_of_claim;
  for (const GangMember& member : gathered.members) {
    const api::Pod& pod = *member.pod;
    const auto field = [&] {
      return StrCat("Pod ", gathered.namespace_name, "/", pod.metadata.name,
                    ": spec.resourceClaims");
    };
    if (!pod.claims_problem.empty()) {
      return FieldError(field(), StrCat("cannot be counted: ", pod.claims_problem),
                        "create it; its pods stay behind the gate until then");
    }
    if (pod.claims_gpus()) {
      return FieldError(
          field(),
          "asks for devices by resource claims, none of which is known to be its GPU; its pods "
          "stay behind the gate",
          StrCat("give the DeviceClass of its GPUs extendedResourceName: ", api::kGpuResource,
                 ", name it in the annotation ", api::kGpuResourceAnnotation, " (",
                 api::kDeviceClassPrefix, "<class>), or ask for the GPUs in resources.limits"));
    }
    for (const api::ClaimOfPod& claim : pod.claims) {
      if (!claim.claim_template.empty() || claim.claim.empty()) continue;
      const auto [at, fresh] = pod_of_claim.emplace(claim.claim, &pod);
      if (fresh) continue;
      return FieldError(
          field(),
          StrCat("shares the ResourceClaim ", claim.claim, " with pod ", at->second->metadata.name,
                 ", and ranks that share devices would have to stand on one host"),
          "give each pod a claim of its own by resourceClaimTemplateName");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<api::Gang>> MakeGang(const GatheredGang& gathered,
                                                  const api::TrainingJob* job,
                                                  const DeclaredSizes& declared) {
  if (gathered.members.empty() || gathered.held_by_others > 0) return std::optional<api::Gang>();
  YM_RETURN_IF_ERROR(CheckClaims(gathered));
  api::Gang gang;
  const GangMember& first = gathered.members.front();
  gang.owner = first.membership->owner;
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
    gang.constraints = OwnConstraints(*first.pod);
  }
  std::vector<api::Membership> memberships;
  for (const GangMember& member : gathered.members) {
    memberships.push_back(*member.membership);
    workload::RaiseAmounts(gang.requests, member.pod->requests);
  }
  for (const Replica& replica : gathered.ended) {
    memberships.push_back({{}, "", replica.subgroup, replica.index, std::nullopt});
  }
  gang.rank_bases = api::RankBasesOf(memberships);
  GatheredGang ranked = gathered;
  AssignRanks(gang.rank_bases, gang.job.workers, ranked);
  YM_RETURN_IF_ERROR(TooMany(ranked, gang.rank_bases, gang.job.workers));
  if (!IsComplete(ranked, gang.job.workers)) {
    YM_RETURN_IF_ERROR(Gaps(ranked, gang.job.workers));
    return std::optional<api::Gang>();
  }
  const bool by_pod = job == nullptr && !NamesHosts(ranked);
  if (by_pod) gang.constraints = OwnConstraints(*ranked.members.front().pod);
  std::optional<std::vector<api::GangRole>> roles =
      RolesOf(ranked, by_pod ? &gang.constraints : nullptr);
  if (!roles) return TooManyRoles(ranked);
  gang.roles = *std::move(roles);

  gang.metadata.name = gathered.name;
  gang.metadata.namespace_name = gathered.namespace_name;
  // Not as controller: a Job keeps its own; the reference is there for garbage collection.
  api::OwnerReference root = gathered.root;
  root.controller = false;
  if (!root.uid.empty()) gang.metadata.owners = {root};
  if (gang.owner.uid.empty() && root.kind == gang.owner.kind) gang.owner.uid = root.uid;
  // What concerns the gang is said on the pod of rank 0.
  if (gang.owner.kind == api::kPlainPodKind) {
    gang.owner.name = ranked.members.front().pod->metadata.name;
  }
  return std::optional<api::Gang>(std::move(gang));
}

}  // namespace yardmaster::gather
