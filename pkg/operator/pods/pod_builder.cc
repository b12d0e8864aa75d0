#include "pkg/operator/pods/pod_builder.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/connection_report.h"
#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/base/strings.h"
#include "pkg/operator/pods/pod_checkpoint.h"
#include "pkg/operator/pods/pod_network.h"
#include "pkg/operator/pods/pod_rental.h"
#include "pkg/operator/pods/pod_restart.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

std::string Text(const json& object, const char* pointer) {
  const json::json_pointer at(pointer);
  return object.contains(at) && object[at].is_string() ? object[at].get<std::string>() : "";
}

// Adds {name, value} unless the container sets that name itself.
void AddEnv(json& container, const std::string& name, const std::string& value) {
  json& env = container["env"];
  if (!env.is_array()) env = json::array();
  for (const json& entry : env) {
    if (entry.value("name", "") == name) return;
  }
  env.push_back({{"name", name}, {"value", value}});
}

bool AsksFor(const std::string& resource, const json& containers) {
  for (const json& container : containers) {
    for (const char* side : {"/resources/limits", "/resources/requests"}) {
      const json::json_pointer at(side);
      if (container.contains(at) && container[at].contains(resource)) return true;
    }
  }
  return false;
}

std::string RolePodName(const std::string& job, const api::JobRole& role, int index) {
  return StrCat(job, "-", role.name, "-", index);
}

// What every pod of the job has, with or without a rank.
void AddRendezvous(json& container, const json& training_job, const WorkerShape& shape) {
  const std::string job = Text(training_job, "/metadata/name");
  const std::string master =
      StrCat(PodName(job, 0), ".", job, ".", Text(training_job, "/metadata/namespace"), ".svc");
  const std::string port = StrCat(MasterPort(training_job));
  AddEnv(container, "MASTER_ADDR", master);
  AddEnv(container, "MASTER_PORT", port);
  AddEnv(container, "WORLD_SIZE", StrCat(shape.workers));
}

void AddRank(json& container, const json& training_job, const WorkerShape& shape, int rank) {
  AddEnv(container, "RANK", StrCat(rank));
  AddEnv(container, "LOCAL_RANK", "0");
  AddEnv(container, "LOCAL_WORLD_SIZE", "1");
  AddEnv(container, "PET_NNODES", shape.nodes.empty() ? StrCat(shape.workers) : shape.nodes);
  AddEnv(container, "PET_NPROC_PER_NODE", StrCat(shape.gpus_per_worker));
  AddEnv(container, "PET_NODE_RANK", StrCat(rank));
  const std::string job = Text(training_job, "/metadata/name");
  const std::string master =
      StrCat(PodName(job, 0), ".", job, ".", Text(training_job, "/metadata/namespace"), ".svc");
  const int port = MasterPort(training_job);
  AddEnv(container, "PET_MASTER_ADDR", master);
  AddEnv(container, "PET_MASTER_PORT", StrCat(port));
  if (!shape.nodes.empty()) {
    AddEnv(container, "PET_RDZV_BACKEND", "c10d");
    AddEnv(container, "PET_RDZV_ENDPOINT", StrCat(master, ":", port));
    AddEnv(container, "PET_RDZV_ID", Text(training_job, "/metadata/uid"));
  }
  const workload::Parallelism& parallelism = shape.parallelism;
  AddEnv(container, "TENSOR_MODEL_PARALLEL_SIZE", StrCat(parallelism.tensor));
  AddEnv(container, "PIPELINE_MODEL_PARALLEL_SIZE", StrCat(parallelism.pipeline));
  AddEnv(container, "CONTEXT_PARALLEL_SIZE", StrCat(parallelism.context));
  AddEnv(container, "EXPERT_MODEL_PARALLEL_SIZE", StrCat(parallelism.expert));
  AddEnv(container, "DATA_PARALLEL_SIZE", StrCat(parallelism.data));
}

// What every pod of the job is, out of its template: names, owner, attempt, and the time to end.
json BuildMember(const json& training_job, const json& pod_template, const WorkerShape& shape,
                 const std::string& name) {
  const std::string job = Text(training_job, "/metadata/name");
  json pod = pod_template;
  if (!pod.is_object()) pod = json::object();
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  json& metadata = pod["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  metadata["name"] = name;
  metadata["namespace"] = Text(training_job, "/metadata/namespace");
  json& labels = metadata["labels"];
  if (!labels.is_object()) labels = json::object();
  for (const char* ours : {api::kRankLabel, api::kRoleLabel, api::kRoleIndexLabel}) {
    labels.erase(ours);
  }
  labels[api::kJobLabel] = job;
  json& notes = metadata["annotations"];
  if (!notes.is_object()) notes = json::object();
  notes[api::kAttemptAnnotation] = StrCat(shape.attempt);
  // A template cannot give its pods a place, a level or paths, nor a checkpoint: those are written later.
  for (const char* ours :
       {api::kAvoidHostsAnnotation, api::kCheckpointRequestAnnotation, api::kCheckpointAnnotation,
        api::kSlotAnnotation, api::kReleasedAnnotation, api::kPriorityAnnotation,
        api::kPathPlanAnnotation, api::kNcclConfAnnotation, api::kKeptEnvironmentAnnotation,
        api::kNetworkGenerationAnnotation, api::kProfileAnnotation, api::kConnectionsAnnotation}) {
    notes.erase(ours);
  }
  metadata["ownerReferences"] = json::array({ControllerReference(training_job)});
  json& spec = pod["spec"];
  if (!spec.is_object()) spec = json::object();
  spec["hostname"] = name;
  spec["subdomain"] = job;
  const std::string priority_class = Text(training_job, "/spec/priorityClassName");
  if (!priority_class.empty()) spec["priorityClassName"] = priority_class;
  if (UsesHostNetwork(pod) && !spec.contains("dnsPolicy")) {
    spec["dnsPolicy"] = "ClusterFirstWithHostNet";
  }
  // However the pod is ended, it has the time to write a checkpoint.
  const json::json_pointer grace("/spec/checkpoint/graceSeconds");
  if (!spec.contains("terminationGracePeriodSeconds") && training_job.contains(grace)) {
    spec["terminationGracePeriodSeconds"] = training_job[grace];
  }
  json& containers = spec["containers"];
  if (!containers.is_array()) containers = json::array();
  return pod;
}

}  // namespace

bool UsesHostNetwork(const json& pod_template) {
  const json::json_pointer at("/spec/hostNetwork");
  return pod_template.contains(at) && pod_template[at] == json(true);
}

int MasterPort(const json& training_job) {
  const json::json_pointer at("/status/rendezvousPort");
  const bool chosen = training_job.contains(at) && training_job[at].is_number_integer();
  return chosen ? training_job[at].get<int>() : kMasterPort;
}

std::string PodName(const std::string& job, int rank) { return StrCat(job, "-", rank); }

std::string MemberName(const api::TrainingJob& job, int member) {
  if (member < job.job.workers) return PodName(job.metadata.name, member);
  const api::RoleMember place = api::RoleMemberOf(job.roles, job.job.workers, member);
  return RolePodName(job.metadata.name, job.roles[static_cast<std::size_t>(place.role)],
                     place.index);
}

json ControllerReference(const json& owner) {
  return {{"apiVersion", owner.value("apiVersion", "")},
          {"kind", owner.value("kind", "")},
          {"name", Text(owner, "/metadata/name")},
          {"uid", Text(owner, "/metadata/uid")},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

json BuildPod(const json& training_job, const WorkerShape& shape, int rank) {
  json pod =
      BuildMember(training_job, training_job.value("/spec/template"_json_pointer, json::object()),
                  shape, PodName(Text(training_job, "/metadata/name"), rank));
  json& metadata = pod["metadata"];
  metadata["labels"][api::kRankLabel] = StrCat(rank);
  if (!shape.avoid_hosts.empty()) {
    metadata["annotations"][api::kAvoidHostsAnnotation] = shape.avoid_hosts;
  }
  json& gates = pod["spec"]["schedulingGates"];
  if (!gates.is_array()) gates = json::array();
  gates.push_back({{"name", api::kPlacementGate}});
  json& containers = pod["spec"]["containers"];
  if (!containers.empty() && !AsksFor(shape.gpu_resource, containers)) {
    containers[0]["resources"]["limits"][shape.gpu_resource] = StrCat(shape.gpus_per_worker);
  }
  for (json& container : containers) {
    AddRendezvous(container, training_job, shape);
    AddRank(container, training_job, shape, rank);
  }
  AddRestart(shape.restarts_in_place, shape.attempt, pod);
  AddRental(training_job, pod);
  AddCheckpointEnvironment(training_job, pod);
  AddCheckpointHook(training_job, pod);
  AddNetworkEnvironment(pod);
  return pod;
}

json BuildRolePod(const json& training_job, const std::vector<api::JobRole>& roles,
                  const WorkerShape& shape, int member) {
  const api::RoleMember place = api::RoleMemberOf(roles, shape.workers, member);
  const api::JobRole& role = roles[static_cast<std::size_t>(place.role)];
  json pod = BuildMember(training_job, *role.pod_template, shape,
                         RolePodName(Text(training_job, "/metadata/name"), role, place.index));
  json& labels = pod["metadata"]["labels"];
  labels[api::kRoleLabel] = role.name;
  labels[api::kRoleIndexLabel] = StrCat(place.index);
  for (json& container : pod["spec"]["containers"]) {
    AddRendezvous(container, training_job, shape);
    AddEnv(container, "YARDMASTER_ROLE", role.name);
    AddEnv(container, "YARDMASTER_ROLE_INDEX", StrCat(place.index));
  }
  AddRestart(shape.restarts_in_place, shape.attempt, pod);
  AddCheckpointEnvironment(training_job, pod);
  return pod;
}

json BuildService(const json& training_job) {
  const std::string job = Text(training_job, "/metadata/name");
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata",
           {{"name", job},
            {"namespace", Text(training_job, "/metadata/namespace")},
            {"labels", {{api::kJobLabel, job}}},
            {"ownerReferences", json::array({ControllerReference(training_job)})}}},
          {"spec",
           {{"clusterIP", "None"},
            {"publishNotReadyAddresses", true},
            {"selector", {{api::kJobLabel, job}}},
            {"ports", json::array({{{"name", "master"}, {"port", MasterPort(training_job)}}})}}}};
}

}  // namespace yardmaster::op
