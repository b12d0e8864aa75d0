#include "pkg/gather/owner_size.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/strings.h"
#include "pkg/gather/job_set.h"
#include "pkg/gather/template_gpus.h"

namespace yardmaster::gather {

namespace {

std::optional<int> CountIn(JsonView value, std::optional<int> otherwise) {
  if (!value.present() || value.is_null()) return otherwise;
  const auto count = value.WholeNumber();
  if (!count || *count < 0 || *count > api::kMaxListedRanks) return std::nullopt;
  return static_cast<int>(*count);
}

// Of the spec of an indexed Job: only one that runs all its indexes at once is a gang.
std::optional<int> PodsOfJob(JsonView spec) {
  const std::optional<int> completions = CountIn(spec["completions"], std::nullopt);
  return completions == CountIn(spec["parallelism"], 1) ? completions : std::nullopt;
}

// Each Job in the set is a subgroup. Pods that ask for no GPU have no rank: the initializers of a
// TrainJob.
std::optional<OwnerSize> SizeOfJobSet(JsonView object) {
  OwnerSize size;
  bool known = object.At({"spec", "replicatedJobs"}).is_array();
  ForEachReplicatedJob(object, [&](const ReplicatedJob& job) {
    const std::optional<int> pods = PodsOfJob(job.object.At({"template", "spec"}));
    const bool has_ranks = AsksForGpus(job.object.At({"template", "spec", "template"})) != false;
    known &= job.is_valid && (pods || !has_ranks);
    if (known) size.Append(static_cast<int>(job.jobs), has_ranks ? *pods : 0);
  });
  return known ? std::optional(std::move(size)) : std::nullopt;
}

std::optional<OwnerSize> SizeOfTasks(JsonView spec) {
  const JsonView tasks = spec["tasks"];
  OwnerSize size;
  bool known = tasks.is_array();
  tasks.ForEachElement([&](JsonView task) {
    const std::optional<int> replicas = CountIn(task["replicas"], 1);
    known &= replicas && task["name"].is_string();
    if (known) size.Set(task["name"].Text(), *replicas);
  });
  return known ? std::optional(std::move(size)) : std::nullopt;
}

std::optional<OwnerSize> OneSubgroup(std::optional<int> pods) {
  if (!pods) return std::nullopt;
  OwnerSize size;
  size.Set("", *pods);
  return size;
}

// The workers of an MPIJob are one subgroup, with its launcher where that works, too.
std::optional<OwnerSize> SizeOfMpiJob(JsonView spec) {
  std::optional<int> workers =
      CountIn(spec.At({"mpiReplicaSpecs", "Worker", "replicas"}), std::nullopt);
  if (workers && spec["runLauncherAsWorker"].Bool() == true) ++*workers;
  return OneSubgroup(workers);
}

// Each group of a LeaderWorkerSet is a gang of its own.
std::optional<OwnerSize> SizeOfGroup(JsonView spec) {
  return OneSubgroup(CountIn(spec.At({"leaderWorkerTemplate", "size"}), 1));
}

// spec.pytorchReplicaSpecs.Worker.replicas and its like.
std::optional<OwnerSize> SizeOfReplicaSpecs(JsonView spec) {
  OwnerSize size;
  bool known = true, any = false;
  const auto add = [&](std::string_view type, JsonView replica) {
    const std::optional<int> replicas = CountIn(replica["replicas"], 1);
    known &= replicas.has_value();
    any = true;
    std::string subgroup(type);
    std::transform(subgroup.begin(), subgroup.end(), subgroup.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    size.Set(subgroup, replicas.value_or(0));
  };
  spec.ForEachMember([&](std::string_view key, JsonView types) {
    if (key.ends_with("ReplicaSpecs")) types.ForEachMember(add);
  });
  return known && any ? std::optional(std::move(size)) : std::nullopt;
}

// Whether pods of the template are gathered into a gang (api::WantsGang).
bool JoinsGang(JsonView pod_template) {
  bool asks = pod_template.At({"metadata", "annotations", api::kParallelismAnnotation}).is_string();
  pod_template.At({"spec", "schedulingGates"}).ForEachElement([&](JsonView gate) {
    asks |= gate["name"].String() == api::kPlacementGate;
  });
  return asks && AsksForGpus(pod_template) == true;
}

// As KubeRay counts the workers of a group.
std::optional<int> WorkersOfRayGroup(JsonView group) {
  if (group["suspend"].Bool() == true) return 0;
  const auto least = CountIn(group["minReplicas"], 0);
  const auto most = CountIn(group["maxReplicas"], api::kMaxListedRanks);
  const auto replicas = CountIn(group["replicas"], least);
  const auto hosts = CountIn(group["numOfHosts"], 1);
  if (!least || !most || !replicas || !hosts) return std::nullopt;
  const std::int64_t wanted = std::min(std::max(*replicas, *least), std::max(*most, *least));
  const std::int64_t workers = wanted * std::max(*hosts, 1);
  if (workers > api::kMaxListedRanks) return std::nullopt;
  return static_cast<int>(workers);
}

// The extender numbers all pods of a RayCluster that ask for GPUs, of every group: one subgroup.
std::optional<OwnerSize> SizeOfRayCluster(JsonView spec) {
  std::int64_t pods = JoinsGang(spec.At({"headGroupSpec", "template"})) ? 1 : 0;
  bool known = true;
  spec["workerGroupSpecs"].ForEachElement([&](JsonView group) {
    if (!JoinsGang(group["template"])) return;
    const std::optional<int> workers = WorkersOfRayGroup(group);
    known &= workers.has_value();
    pods += workers.value_or(0);
  });
  if (!known || pods > api::kMaxListedRanks) return std::nullopt;
  return OneSubgroup(static_cast<int>(pods));
}

}  // namespace

void OwnerSize::Set(const std::string& subgroup, int pods) {
  int& known = named_[subgroup];
  pods_ += pods - known;
  known = pods;
}

void OwnerSize::Append(int subgroups, int pods) {
  const std::int64_t begin = numbered_.empty() ? 0 : numbered_.back().end;
  if (subgroups > 0) numbered_.push_back({begin + subgroups, pods});
  pods_ += std::int64_t{1} * subgroups * pods;
}

int OwnerSize::PodsIn(const std::string& subgroup) const {
  if (const auto named = named_.find(subgroup); named != named_.end()) return named->second;
  const auto number = ParseNumber<std::int64_t>(subgroup);
  if (!number || *number < 0 || StrCat(*number) != subgroup) return 0;
  const auto run =
      std::upper_bound(numbered_.begin(), numbered_.end(), *number,
                       [](std::int64_t wanted, const Run& run) { return wanted < run.end; });
  return run == numbered_.end() ? 0 : run->pods;
}

std::optional<OwnerSize> SizeOf(const api::OwnerReference& owner, JsonView object) {
  const std::string group = owner.api_version.substr(0, owner.api_version.find('/'));
  const JsonView spec = object["spec"];
  if (group == "batch" && owner.kind == "Job") return OneSubgroup(PodsOfJob(spec));
  if (group == "batch.volcano.sh") return SizeOfTasks(spec);
  if (owner.kind == "JobSet") return SizeOfJobSet(object);
  if (owner.kind == "LeaderWorkerSet") return SizeOfGroup(spec);
  if (owner.kind == "MPIJob") return SizeOfMpiJob(spec);
  if (group == "ray.io") return SizeOfRayCluster(spec);
  if (group == "kubeflow.org") return SizeOfReplicaSpecs(spec);
  return std::nullopt;
}

absl::StatusOr<GangSize> ResizedTo(const std::vector<api::RankBase>& bases, int workers,
                                   const std::vector<std::string>& added, const OwnerSize& pods) {
  if (pods.pods() > api::kMaxListedRanks) return absl::FailedPreconditionError("it is too large");
  std::vector<std::string> subgroups = added;
  for (const api::RankBase& base : bases) subgroups.push_back(base.subgroup);
  std::sort(subgroups.begin(), subgroups.end(), api::SubgroupLess);
  subgroups.erase(std::unique(subgroups.begin(), subgroups.end()), subgroups.end());
  std::map<std::string_view, int> first_ranks;
  for (const api::RankBase& base : bases) first_ranks.emplace(base.subgroup, base.first_rank);
  GangSize size;
  for (const std::string& subgroup : subgroups) {
    const int count = pods.PodsIn(subgroup);
    const auto before = first_ranks.find(subgroup);
    if (count > 0 && before != first_ranks.end() && before->second != size.workers) {
      return absl::FailedPreconditionError(StrCat("its pods in ", subgroup, " begin at rank ",
                                                  before->second, " and would begin at rank ",
                                                  size.workers));
    }
    if (count > 0 && before == first_ranks.end() && size.workers < workers) {
      return absl::FailedPreconditionError(
          StrCat("its new pods in ", subgroup, " would come before others that run"));
    }
    if (count > 0) size.rank_bases.push_back({subgroup, size.workers});
    size.workers += count;
  }
  return size;
}

}  // namespace yardmaster::gather
