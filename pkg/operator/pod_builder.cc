#include "pkg/operator/pod_builder.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/operator/capacity_pods.h"
#include "pkg/operator/pod_checkpoint.h"
#include "pkg/operator/pod_network.h"
#include "pkg/operator/pod_restart.h"

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

void AddEnvironment(json& container, const std::string& job, const std::string& job_namespace,
                    const WorkerShape& shape, int master_port, int rank) {
  const std::string master = StrCat(PodName(job, 0), ".", job, ".", job_namespace, ".svc");
  const std::string port = StrCat(master_port);
  AddEnv(container, "MASTER_ADDR", master);
  AddEnv(container, "MASTER_PORT", port);
  AddEnv(container, "RANK", StrCat(rank));
  AddEnv(container, "WORLD_SIZE", StrCat(shape.workers));
  AddEnv(container, "LOCAL_RANK", "0");
  AddEnv(container, "LOCAL_WORLD_SIZE", "1");
  AddEnv(container, "PET_NNODES", StrCat(shape.workers));
  AddEnv(container, "PET_NPROC_PER_NODE", StrCat(shape.gpus_per_worker));
  AddEnv(container, "PET_NODE_RANK", StrCat(rank));
  AddEnv(container, "PET_MASTER_ADDR", master);
  AddEnv(container, "PET_MASTER_PORT", port);
  const workload::Parallelism& parallelism = shape.parallelism;
  AddEnv(container, "TENSOR_MODEL_PARALLEL_SIZE", StrCat(parallelism.tensor));
  AddEnv(container, "PIPELINE_MODEL_PARALLEL_SIZE", StrCat(parallelism.pipeline));
  AddEnv(container, "CONTEXT_PARALLEL_SIZE", StrCat(parallelism.context));
  AddEnv(container, "EXPERT_MODEL_PARALLEL_SIZE", StrCat(parallelism.expert));
  AddEnv(container, "DATA_PARALLEL_SIZE", StrCat(parallelism.data));
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

json ControllerReference(const json& owner) {
  return {{"apiVersion", owner.value("apiVersion", "")},
          {"kind", owner.value("kind", "")},
          {"name", Text(owner, "/metadata/name")},
          {"uid", Text(owner, "/metadata/uid")},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

json BuildPod(const json& training_job, const WorkerShape& shape, int rank) {
  const std::string job = Text(training_job, "/metadata/name");
  const std::string job_namespace = Text(training_job, "/metadata/namespace");
  json pod = training_job.value("/spec/template"_json_pointer, json::object());
  if (!pod.is_object()) pod = json::object();
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  json& metadata = pod["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  metadata["name"] = PodName(job, rank);
  metadata["namespace"] = job_namespace;
  metadata["labels"][api::kJobLabel] = job;
  metadata["labels"][api::kRankLabel] = StrCat(rank);
  if (!metadata["annotations"].is_object()) metadata["annotations"] = json::object();
  metadata["annotations"][api::kAttemptAnnotation] = StrCat(shape.attempt);
  for (const char* ours : {api::kAvoidHostsAnnotation, api::kCheckpointRequestAnnotation,
                           api::kCheckpointAnnotation}) {
    metadata["annotations"].erase(ours);
  }
  if (!shape.avoid_hosts.empty()) {
    metadata["annotations"][api::kAvoidHostsAnnotation] = shape.avoid_hosts;
  }
  metadata["ownerReferences"] = json::array({ControllerReference(training_job)});
  // A template cannot give its pods a place, a level or paths: those are written later, by us.
  if (const auto notes = metadata.find("annotations"); notes != metadata.end()) {
    for (const char* ours : {api::kSlotAnnotation, api::kPriorityAnnotation,
                             api::kPathPlanAnnotation, api::kProfileAnnotation}) {
      if (notes->is_object()) notes->erase(ours);
    }
  }

  json& spec = pod["spec"];
  if (!spec.is_object()) spec = json::object();
  spec["hostname"] = PodName(job, rank);
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
  json& gates = spec["schedulingGates"];
  if (!gates.is_array()) gates = json::array();
  gates.push_back({{"name", api::kPlacementGate}});
  json& containers = spec["containers"];
  if (!containers.is_array()) containers = json::array();
  if (!containers.empty() && !AsksFor(shape.gpu_resource, containers)) {
    containers[0]["resources"]["limits"][shape.gpu_resource] = StrCat(shape.gpus_per_worker);
  }
  for (json& container : containers) {
    AddEnvironment(container, job, job_namespace, shape, MasterPort(training_job), rank);
  }
  AddRestart(shape.restarts_in_place, shape.attempt, pod);
  AddRental(training_job, pod);
  AddCheckpointEnvironment(training_job, pod);
  AddNetworkEnvironment(pod);
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
