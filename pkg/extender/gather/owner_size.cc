#include "pkg/extender/gather/owner_size.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/rank_resolver.h"
#include "pkg/base/strings.h"
#include "pkg/json/json_view.h"

namespace yardmaster::extender {

namespace {

using nlohmann::json;
using Pods = std::map<std::string, int>;

// As status.assignments of a Gang has it.
constexpr std::int64_t kMaxPods = 16'384;

std::optional<int> CountIn(JsonView value, std::optional<int> otherwise) {
  if (!value.present() || value.is_null()) return otherwise;
  const auto count = value.WholeNumber();
  if (!count || *count < 0 || *count > kMaxPods) return std::nullopt;
  return static_cast<int>(*count);
}

// Of the spec of an indexed Job: only one that runs all its indexes at once is a gang.
std::optional<int> PodsOfJob(JsonView spec) {
  const std::optional<int> completions = CountIn(spec["completions"], std::nullopt);
  return completions == CountIn(spec["parallelism"], 1) ? completions : std::nullopt;
}

std::optional<Pods> PodsOfJobSet(JsonView spec) {
  const JsonView jobs = spec["replicatedJobs"];
  Pods pods;
  int index = 0;  // of a Job in the set, which is its subgroup
  bool known = jobs.is_array();
  jobs.ForEachElement([&](JsonView job) {
    const std::optional<int> replicas = CountIn(job["replicas"], 1);
    const std::optional<int> size = PodsOfJob(job.At({"template", "spec"}));
    known &= replicas && size;
    for (int i = 0; known && i < *replicas; ++i) pods[StrCat(index++)] = *size;
  });
  return known ? std::optional(std::move(pods)) : std::nullopt;
}

std::optional<Pods> PodsOfTasks(JsonView spec) {
  const JsonView tasks = spec["tasks"];
  Pods pods;
  bool known = tasks.is_array();
  tasks.ForEachElement([&](JsonView task) {
    const std::optional<int> replicas = CountIn(task["replicas"], 1);
    known &= replicas && task["name"].is_string();
    if (known) pods[task["name"].Text()] = *replicas;
  });
  return known ? std::optional(std::move(pods)) : std::nullopt;
}

// The workers of an MPIJob are one subgroup, with its launcher where that works, too.
std::optional<Pods> PodsOfMpiJob(JsonView spec) {
  const std::optional<int> workers =
      CountIn(spec.At({"mpiReplicaSpecs", "Worker", "replicas"}), std::nullopt);
  if (!workers) return std::nullopt;
  return Pods{{"", *workers + (spec["runLauncherAsWorker"].Bool() == true ? 1 : 0)}};
}

// Each group of a LeaderWorkerSet is a gang of its own.
std::optional<Pods> PodsOfGroup(JsonView spec) {
  const std::optional<int> size = CountIn(spec.At({"leaderWorkerTemplate", "size"}), 1);
  return size ? std::optional(Pods{{"", *size}}) : std::nullopt;
}

// spec.pytorchReplicaSpecs.Worker.replicas and its like.
std::optional<Pods> PodsOfReplicaSpecs(JsonView spec) {
  Pods pods;
  bool known = true;
  const auto add = [&](std::string_view type, JsonView replica) {
    const std::optional<int> replicas = CountIn(replica["replicas"], 1);
    known &= replicas.has_value();
    std::string subgroup(type);
    std::transform(subgroup.begin(), subgroup.end(), subgroup.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    pods[subgroup] = replicas.value_or(0);
  };
  spec.ForEachMember([&](std::string_view key, JsonView types) {
    if (key.ends_with("ReplicaSpecs")) types.ForEachMember(add);
  });
  return known && !pods.empty() ? std::optional(std::move(pods)) : std::nullopt;
}

}  // namespace

std::optional<Pods> PodsBySubgroup(const api::OwnerReference& owner, const json& object) {
  const std::string group = owner.api_version.substr(0, owner.api_version.find('/'));
  const JsonView spec = JsonView(object)["spec"];
  if (group == "batch" && owner.kind == "Job") {
    const std::optional<int> pods = PodsOfJob(spec);
    return pods ? std::optional<Pods>(Pods{{"", *pods}}) : std::nullopt;
  }
  if (group == "batch.volcano.sh") return PodsOfTasks(spec);
  if (owner.kind == "JobSet") return PodsOfJobSet(spec);
  if (owner.kind == "LeaderWorkerSet") return PodsOfGroup(spec);
  if (owner.kind == "MPIJob") return PodsOfMpiJob(spec);
  if (group == "kubeflow.org") return PodsOfReplicaSpecs(spec);
  return std::nullopt;
}

absl::StatusOr<GangSize> ResizedTo(const std::vector<api::RankBase>& bases, int workers,
                                   const std::vector<std::string>& added, const Pods& pods) {
  std::vector<std::string> subgroups = added;
  for (const api::RankBase& base : bases) subgroups.push_back(base.subgroup);
  std::sort(subgroups.begin(), subgroups.end(), api::SubgroupLess);
  subgroups.erase(std::unique(subgroups.begin(), subgroups.end()), subgroups.end());
  GangSize size;
  for (const std::string& subgroup : subgroups) {
    const auto wanted = pods.find(subgroup);
    const int count = wanted == pods.end() ? 0 : wanted->second;
    const auto before = std::find_if(bases.begin(), bases.end(), [&](const api::RankBase& base) {
      return base.subgroup == subgroup;
    });
    if (count > 0 && before != bases.end() && before->first_rank != size.workers) {
      return absl::FailedPreconditionError(StrCat("its pods in ", subgroup, " begin at rank ",
                                                  before->first_rank, " and would begin at rank ",
                                                  size.workers));
    }
    if (count > 0 && before == bases.end() && size.workers < workers) {
      return absl::FailedPreconditionError(
          StrCat("its new pods in ", subgroup, " would come before others that run"));
    }
    if (count > 0) size.rank_bases.push_back({subgroup, size.workers});
    size.workers += count;
    if (size.workers > kMaxPods) return absl::FailedPreconditionError("it is too large");
  }
  return size;
}

}  // namespace yardmaster::extender
