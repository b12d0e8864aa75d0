#include "pkg/extender/owner_size.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "nlohmann/json.hpp"

#include "pkg/api/rank_resolver.h"
#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

using nlohmann::json;
using Pods = std::map<std::string, int>;

// As status.assignments of a Gang has it.
constexpr std::int64_t kMaxPods = 16'384;

// The value at a path of an object of others, which may have any shape. Null: nothing there.
const json* Find(const json& object, const char* path) {
  const json::json_pointer at(path);
  return object.contains(at) ? &object[at] : nullptr;
}

std::optional<int> CountAt(const json& object, const char* path, std::optional<int> otherwise) {
  const json* value = Find(object, path);
  if (value == nullptr || value->is_null()) return otherwise;
  if (!value->is_number_integer()) return std::nullopt;
  const auto count = value->get<std::int64_t>();
  return count >= 0 && count <= kMaxPods ? std::optional<int>(static_cast<int>(count))
                                         : std::nullopt;
}

// Of the spec of an indexed Job: only one that runs all its indexes at once is a gang.
std::optional<int> PodsOfJob(const json& object) {
  const std::optional<int> parallelism = CountAt(object, "/spec/parallelism", 1);
  const std::optional<int> completions = CountAt(object, "/spec/completions", std::nullopt);
  return completions && completions == parallelism ? completions : std::nullopt;
}

std::optional<Pods> PodsOfJobSet(const json& object) {
  const json* jobs = Find(object, "/spec/replicatedJobs");
  if (jobs == nullptr || !jobs->is_array()) return std::nullopt;
  Pods pods;
  int index = 0;  // of a Job in the set, which is its subgroup
  for (const json& job : *jobs) {
    const std::optional<int> replicas = CountAt(job, "/replicas", 1);
    const json* job_template = Find(job, "/template");
    if (!replicas || job_template == nullptr) return std::nullopt;
    const std::optional<int> size = PodsOfJob(*job_template);
    if (!size) return std::nullopt;
    for (int i = 0; i < *replicas; ++i) pods[StrCat(index++)] = *size;
  }
  return pods;
}

std::optional<Pods> PodsOfTasks(const json& object) {
  const json* tasks = Find(object, "/spec/tasks");
  if (tasks == nullptr || !tasks->is_array()) return std::nullopt;
  Pods pods;
  for (const json& task : *tasks) {
    const json* name = Find(task, "/name");
    const std::optional<int> replicas = CountAt(task, "/replicas", 1);
    if (name == nullptr || !name->is_string() || !replicas) return std::nullopt;
    pods[name->get<std::string>()] = *replicas;
  }
  return pods;
}

// The workers of an MPIJob are one subgroup, with its launcher where that works, too.
std::optional<Pods> PodsOfMpiJob(const json& object) {
  const std::optional<int> workers =
      CountAt(object, "/spec/mpiReplicaSpecs/Worker/replicas", std::nullopt);
  if (!workers) return std::nullopt;
  const json* launcher = Find(object, "/spec/runLauncherAsWorker");
  return Pods{{"", *workers + (launcher != nullptr && *launcher == true ? 1 : 0)}};
}

// spec.pytorchReplicaSpecs.Worker.replicas and its like.
std::optional<Pods> PodsOfReplicaSpecs(const json& object) {
  const json* spec = Find(object, "/spec");
  if (spec == nullptr || !spec->is_object()) return std::nullopt;
  Pods pods;
  for (const auto& [key, types] : spec->items()) {
    constexpr std::string_view kSuffix = "ReplicaSpecs";
    if (key.size() < kSuffix.size() || !types.is_object()) continue;
    if (key.compare(key.size() - kSuffix.size(), kSuffix.size(), kSuffix) != 0) continue;
    for (const auto& [type, replica] : types.items()) {
      const std::optional<int> replicas = CountAt(replica, "/replicas", 1);
      if (!replicas) return std::nullopt;
      std::string subgroup = type;
      std::transform(subgroup.begin(), subgroup.end(), subgroup.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      pods[subgroup] = *replicas;
    }
  }
  return pods.empty() ? std::nullopt : std::optional<Pods>(pods);
}

}  // namespace

std::optional<Pods> PodsBySubgroup(const api::OwnerReference& owner, const json& object) {
  const std::string group = owner.api_version.substr(0, owner.api_version.find('/'));
  if (group == "batch" && owner.kind == "Job") {
    const std::optional<int> pods = PodsOfJob(object);
    return pods ? std::optional<Pods>(Pods{{"", *pods}}) : std::nullopt;
  }
  if (group == "batch.volcano.sh") return PodsOfTasks(object);
  if (owner.kind == "JobSet") return PodsOfJobSet(object);
  if (owner.kind == "MPIJob") return PodsOfMpiJob(object);
  if (group == "kubeflow.org") return PodsOfReplicaSpecs(object);
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
