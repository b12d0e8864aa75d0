#include "pkg/operator/pods/pod_builder.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/connection_report.h"
#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/api/pod_manifest.h"
#include "pkg/base/strings.h"
#include "pkg/operator/pods/pod_checkpoint.h"
#include "pkg/operator/pods/pod_compute_domain.h"
#include "pkg/operator/pods/pod_network.h"
#include "pkg/operator/pods/pod_queue.h"
#include "pkg/operator/pods/pod_rental.h"
#include "pkg/operator/pods/pod_restart.h"

namespace yardmaster::op {

namespace {

using api::ContainerManifest;
using api::PodManifest;
using nlohmann::json;

std::string RolePodName(const std::string& job, const api::JobRole& role, int index) {
  return StrCat(job, "-", role.name, "-", index);
}

std::string AddressOf(const api::TrainingJob& job, int rank) {
  const std::string& name = job.metadata.name;
  return StrCat(PodName(name, rank), ".", name, ".", job.metadata.namespace_name, ".svc");
}

std::string MasterOf(const api::TrainingJob& job) { return AddressOf(job, 0); }

// What every pod of the job has, with or without a rank.
void AddRendezvous(const api::TrainingJob& job, const WorkerShape& shape,
                   ContainerManifest& container) {
  container.AddEnv("MASTER_ADDR", MasterOf(job));
  container.AddEnv("MASTER_PORT", StrCat(MasterPort(job)));
  container.AddEnv("WORLD_SIZE", StrCat(shape.workers));
}

// What a launcher of its own for each data group needs.
void AddDataGroup(const api::TrainingJob& job, const std::vector<int>& groups, int rank,
                  ContainerManifest& container) {
  if (groups.empty()) return;
  const int group = groups[static_cast<std::size_t>(rank)];
  const auto first = std::find(groups.begin(), groups.end(), group);
  const auto self = groups.begin() + rank;
  container.AddEnv("YARDMASTER_DATA_GROUP", StrCat(group));
  container.AddEnv("YARDMASTER_DATA_GROUPS",
                   StrCat(*std::max_element(groups.begin(), groups.end()) + 1));
  container.AddEnv("YARDMASTER_DATA_GROUP_RANK", StrCat(std::count(first, self, group)));
  container.AddEnv("YARDMASTER_DATA_GROUP_SIZE", StrCat(std::count(first, groups.end(), group)));
  container.AddEnv("YARDMASTER_DATA_GROUP_ADDR",
                   AddressOf(job, static_cast<int>(first - groups.begin())));
}

void AddRank(const api::TrainingJob& job, const WorkerShape& shape, int rank,
             ContainerManifest& container) {
  container.AddEnv("RANK", StrCat(rank));
  container.AddEnv("LOCAL_RANK", "0");
  container.AddEnv("LOCAL_WORLD_SIZE", "1");
  container.AddEnv("PET_NNODES", shape.nodes.empty() ? StrCat(shape.workers) : shape.nodes);
  container.AddEnv("PET_NPROC_PER_NODE", StrCat(shape.gpus_per_worker));
  container.AddEnv("PET_NODE_RANK", StrCat(rank));
  const std::string master = MasterOf(job);
  const int port = MasterPort(job);
  container.AddEnv("PET_MASTER_ADDR", master);
  container.AddEnv("PET_MASTER_PORT", StrCat(port));
  if (!shape.nodes.empty()) {
    container.AddEnv("PET_RDZV_BACKEND", "c10d");
    container.AddEnv("PET_RDZV_ENDPOINT", StrCat(master, ":", port));
    container.AddEnv("PET_RDZV_ID", job.metadata.uid);
  }
  const workload::Parallelism& parallelism = shape.parallelism;
  container.AddEnv("TENSOR_MODEL_PARALLEL_SIZE", StrCat(parallelism.tensor));
  container.AddEnv("PIPELINE_MODEL_PARALLEL_SIZE", StrCat(parallelism.pipeline));
  container.AddEnv("CONTEXT_PARALLEL_SIZE", StrCat(parallelism.context));
  container.AddEnv("EXPERT_MODEL_PARALLEL_SIZE", StrCat(parallelism.expert));
  container.AddEnv("DATA_PARALLEL_SIZE", StrCat(parallelism.data));
  AddDataGroup(job, shape.data_groups, rank, container);
}

// What every pod of the job is, out of its template: names, owner, attempt, and the time to end.
PodManifest MemberOf(const api::TrainingJob& job, const api::PodTemplate& pod_template,
                     const WorkerShape& shape, const std::string& name) {
  PodManifest pod = pod_template.Manifest();
  pod.other["apiVersion"] = "v1";
  pod.other["kind"] = "Pod";
  pod.metadata["name"] = name;
  pod.metadata["namespace"] = job.metadata.namespace_name;
  pod.metadata["ownerReferences"] = json::array({ControllerReference(job)});
  for (const char* ours : {api::kRankLabel, api::kRoleLabel, api::kRoleIndexLabel}) {
    pod.labels.erase(ours);
  }
  pod.labels[api::kJobLabel] = job.metadata.name;
  pod.annotations[api::kAttemptAnnotation] = StrCat(shape.attempt);
  // A template cannot give its pods a place, a level or paths, nor a checkpoint: those are written
  // later.
  for (const char* ours :
       {api::kAvoidHostsAnnotation, api::kCheckpointRequestAnnotation, api::kCheckpointAnnotation,
        api::kSlotAnnotation, api::kReleasedAnnotation, api::kPriorityAnnotation,
        api::kPathPlanAnnotation, api::kNcclConfAnnotation, api::kKeptEnvironmentAnnotation,
        api::kNetworkGenerationAnnotation, api::kProfileAnnotation, api::kProgressAnnotation,
        api::kConnectionsAnnotation}) {
    pod.annotations.erase(ours);
  }
  pod.spec["hostname"] = name;
  pod.spec["subdomain"] = job.metadata.name;
  if (!job.priority_class.empty()) pod.priority_class = job.priority_class;
  if (pod.host_network && pod.dns_policy.empty()) pod.dns_policy = "ClusterFirstWithHostNet";
  // However the pod is ended, it has the time to write a checkpoint.
  if (!pod.grace_seconds) pod.grace_seconds = job.checkpoint.grace_seconds;
  return pod;
}

void AddToleration(const char* key, PodManifest& pod) {
  json wanted = {{"key", key}, {"operator", "Exists"}, {"effect", "NoSchedule"}};
  const auto& present = pod.tolerations;
  if (std::find(present.begin(), present.end(), wanted) != present.end()) return;
  pod.tolerations.push_back(std::move(wanted));
}

// Terms are ORed, so the host goes into every one there is; one without requirements selects
// nothing and stays so.
void PinTo(const WorkerPlace& place, PodManifest& pod) {
  pod.annotations[api::kSlotAnnotation] = place.slot;
  for (const auto& [key, value] : place.network) pod.annotations[key] = value;
  const json host = {{"key", "metadata.name"}, {"operator", "In"}, {"values", {place.host}}};
  if (!pod.node_terms) {
    pod.node_terms.emplace(1).front().fields.push_back(host);
  } else {
    for (api::NodeTermManifest& term : *pod.node_terms) {
      if (!term.expressions.empty() || !term.fields.empty()) term.fields.push_back(host);
    }
  }
  AddToleration(api::kPromisedKey, pod);
  if (place.backup_host) AddToleration(api::kBackupKey, pod);
}

}  // namespace

int MasterPort(const api::TrainingJob& job) {
  return job.status.rendezvous_port != 0 ? job.status.rendezvous_port : kMasterPort;
}

std::string PodName(const std::string& job, int rank) { return StrCat(job, "-", rank); }

std::string MemberName(const api::TrainingJob& job, int member) {
  if (member < job.job.workers) return PodName(job.metadata.name, member);
  const api::RoleMember place = api::RoleMemberOf(job.roles, job.job.workers, member);
  return RolePodName(job.metadata.name, job.roles[static_cast<std::size_t>(place.role)],
                     place.index);
}

json ControllerReference(const api::TrainingJob& job) {
  return {{"apiVersion", api::kGroupVersion},
          {"kind", api::kTrainingJobKind},
          {"name", job.metadata.name},
          {"uid", job.metadata.uid},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

void AddGpus(const std::string& resource, int gpus, PodManifest& pod) {
  const bool asks =
      std::any_of(pod.containers.begin(), pod.containers.end(),
                  [&](const ContainerManifest& container) { return container.AsksFor(resource); });
  if (!pod.containers.empty() && !asks) pod.containers.front().limits[resource] = StrCat(gpus);
}

json BuildPod(const api::TrainingJob& job, const WorkerShape& shape, int rank,
              const WorkerPlace* place) {
  PodManifest pod = MemberOf(job, job.pod_template, shape, PodName(job.metadata.name, rank));
  pod.labels[api::kRankLabel] = StrCat(rank);
  if (!shape.avoid_hosts.empty()) {
    pod.annotations[api::kAvoidHostsAnnotation] = shape.avoid_hosts;
  }
  if (place == nullptr) pod.scheduling_gates.push_back({{"name", api::kPlacementGate}});
  if (!shape.claims_gpus) AddGpus(shape.gpu_resource, shape.gpus_per_worker, pod);
  for (ContainerManifest& container : pod.containers) {
    AddRendezvous(job, shape, container);
    AddRank(job, shape, rank, container);
  }
  if (shape.claims_channel) AddChannelClaim(job, pod);
  AddRestart(shape.restarts_in_place, shape.attempt, pod);
  AddAdmission(job, 0, pod);
  AddRental(job, pod);
  if (place != nullptr) PinTo(*place, pod);
  AddCheckpointEnvironment(job.checkpoint, pod);
  AddCheckpointHook(job.checkpoint, pod);
  AddNetworkEnvironment(pod);
  return api::EncodePodManifest(pod);
}

json BuildRolePod(const api::TrainingJob& job, const WorkerShape& shape, int member) {
  const api::RoleMember place = api::RoleMemberOf(job.roles, shape.workers, member);
  const api::JobRole& role = job.roles[static_cast<std::size_t>(place.role)];
  PodManifest pod =
      MemberOf(job, role.pod_template, shape, RolePodName(job.metadata.name, role, place.index));
  pod.labels[api::kRoleLabel] = role.name;
  pod.labels[api::kRoleIndexLabel] = StrCat(place.index);
  for (ContainerManifest& container : pod.containers) {
    AddRendezvous(job, shape, container);
    container.AddEnv("YARDMASTER_ROLE", role.name);
    container.AddEnv("YARDMASTER_ROLE_INDEX", StrCat(place.index));
  }
  AddRestart(shape.restarts_in_place, shape.attempt, pod);
  AddAdmission(job, static_cast<std::size_t>(place.role) + 1, pod);
  AddCheckpointEnvironment(job.checkpoint, pod);
  return api::EncodePodManifest(pod);
}

json BuildService(const api::TrainingJob& job) {
  const std::string& name = job.metadata.name;
  json selector = {{api::kJobLabel, name}};
  // Of every address that is published, each change of a pod writes all of them again.
  if (!job.publishes_all()) selector[api::kRankLabel] = "0";
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata",
           {{"name", name},
            {"namespace", job.metadata.namespace_name},
            {"labels", {{api::kJobLabel, name}}},
            {"ownerReferences", json::array({ControllerReference(job)})}}},
          {"spec",
           {{"clusterIP", "None"},
            {"publishNotReadyAddresses", true},
            {"selector", std::move(selector)},
            {"ports", json::array({{{"name", "master"}, {"port", MasterPort(job)}}})}}}};
}

}  // namespace yardmaster::op
