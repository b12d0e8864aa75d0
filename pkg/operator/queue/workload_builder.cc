#include "pkg/operator/queue/workload_builder.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/pod_manifest.h"
#include "pkg/api/short_hash.h"
#include "pkg/base/strings.h"
#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

constexpr char kMainPodSet[] = "main";
constexpr std::size_t kUidCharacters = 5;

// A role may have the name of the workers' pod set.
std::string PodSetName(const api::TrainingJob& job, std::size_t role) {
  std::string name = job.roles[role].name;
  const auto taken = [&] {
    return name == kMainPodSet ||
           std::any_of(job.roles.begin(), job.roles.begin() + static_cast<std::ptrdiff_t>(role),
                       [&](const api::JobRole& other) { return other.name == name; });
  };
  while (taken()) name.append("-role");
  return name;
}

// What the job wishes for, which an elastic job may not have.
int WishedWorkers(const api::TrainingJob& job) {
  if (!job.elastic.enabled) return job.job.workers;
  return api::WorkersOf(job.job, job.elastic.wished_data).value_or(job.job.workers);
}

void Keep(const api::OpaqueFields& from, const char* key, json& to) {
  if (const auto found = from.find(key); found != from.end()) to[key] = found->second;
}

json ContainersOf(const std::vector<api::ContainerManifest>& containers) {
  json out = json::array();
  for (const api::ContainerManifest& container : containers) {
    json kept = json::object();
    for (const char* key : {"name", "restartPolicy"}) Keep(container.fields, key, kept);
    json resources = json::object();
    if (!container.limits.empty()) resources["limits"] = container.limits;
    if (!container.requests.empty()) resources["requests"] = container.requests;
    if (!resources.empty()) kept["resources"] = std::move(resources);
    out.push_back(std::move(kept));
  }
  return out;
}

json PodSpecOf(const api::TrainingJob& job, api::PodManifest pod) {
  api::PodManifest kept;
  kept.tolerations = std::move(pod.tolerations);
  kept.node_selector = std::move(pod.node_selector);
  if (!job.gpu_model.empty()) kept.node_selector.try_emplace(api::kGpuModelLabel, job.gpu_model);
  kept.node_terms = std::move(pod.node_terms);
  kept.restart_policy = "Never";
  json spec = api::EncodePodManifest(kept)["spec"];
  for (const char* key : {"resources", "overhead", "runtimeClassName"}) {
    Keep(pod.spec, key, spec);
  }
  spec["containers"] = ContainersOf(pod.containers);
  if (!pod.init_containers.empty()) spec["initContainers"] = ContainersOf(pod.init_containers);
  return spec;
}

json PodSetJson(const api::QueuedPodSet& set, json spec) {
  json out = {{"name", set.name}, {"count", set.count}, {"template", {{"spec", std::move(spec)}}}};
  if (set.min_count) out["minCount"] = *set.min_count;
  return out;
}

json PodSetsJson(const api::TrainingJob& job) {
  const std::vector<api::QueuedPodSet> sets = PodSetsOf(job);
  api::PodManifest worker = job.pod_template.Manifest();
  AddGpus(job.job.gpu_resource, job.job.gpus_per_worker, worker);
  json out = json::array({PodSetJson(sets[0], PodSpecOf(job, std::move(worker)))});
  for (std::size_t i = 0; i < job.roles.size(); ++i) {
    out.push_back(PodSetJson(sets[i + 1], PodSpecOf(job, job.roles[i].pod_template.Manifest())));
  }
  return out;
}

void SetPriority(const std::string& version, const QueuePriority& priority, json& spec) {
  spec["priority"] = priority.value;
  if (priority.class_name.empty()) return;
  if (version == "v1beta1") {
    spec["priorityClassName"] = priority.class_name;
    spec["priorityClassSource"] = priority.workload_class ? "kueue.x-k8s.io/workloadpriorityclass"
                                                          : "scheduling.k8s.io/priorityclass";
    return;
  }
  spec["priorityClassRef"] = {
      {"group", priority.workload_class ? "kueue.x-k8s.io" : "scheduling.k8s.io"},
      {"kind", priority.workload_class ? "WorkloadPriorityClass" : "PriorityClass"},
      {"name", priority.class_name}};
}

}  // namespace

std::string QueueNameOf(const api::TrainingJob& job) {
  if (job.pod_template.admitted_by_queue()) return "";
  return std::string(api::Find(job.metadata.labels, api::kQueueLabel).value_or(""));
}

std::string WorkloadName(const api::TrainingJob& job) {
  return StrCat("trainingjob-", job.metadata.name, "-", job.metadata.uid.substr(0, kUidCharacters));
}

std::vector<api::QueuedPodSet> PodSetsOf(const api::TrainingJob& job) {
  std::vector<api::QueuedPodSet> out = {{kMainPodSet, WishedWorkers(job)}};
  if (job.elastic.enabled) {
    const int smallest = api::WorkerBoundsOf(job.job, job.elastic).first;
    if (smallest < out[0].count) out[0].min_count = smallest;
  }
  for (std::size_t i = 0; i < job.roles.size(); ++i) {
    out.push_back({PodSetName(job, i), job.roles[i].replicas});
  }
  return out;
}

std::string PodSetsHash(const api::TrainingJob& job) {
  return api::ShortHash(PodSetsJson(job).dump());
}

json BuildWorkload(const api::TrainingJob& job, const std::string& version,
                   const QueuePriority& priority) {
  json spec = {{"queueName", QueueNameOf(job)}, {"podSets", PodSetsJson(job)}};
  SetPriority(version, priority, spec);
  return {
      {"apiVersion", StrCat("kueue.x-k8s.io/", version)},
      {"kind", "Workload"},
      {"metadata",
       {{"name", WorkloadName(job)},
        {"namespace", job.metadata.namespace_name},
        {"labels", {{api::kJobLabel, job.metadata.name}, {api::kJobUidLabel, job.metadata.uid}}},
        {"annotations", {{api::kPodSetsAnnotation, PodSetsHash(job)}}},
        {"finalizers", json::array({api::kQuotaFinalizer})},
        {"ownerReferences", json::array({ControllerReference(job)})}}},
      {"spec", std::move(spec)}};
}

}  // namespace yardmaster::op
