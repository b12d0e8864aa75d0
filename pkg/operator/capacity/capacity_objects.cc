#include "pkg/operator/capacity/capacity_objects.h"

#include <algorithm>
#include <map>
#include <utility>

#include "pkg/api/condition.h"
#include "pkg/api/field_reader.h"
#include "pkg/api/names.h"
#include "pkg/api/resource_list.h"
#include "pkg/api/short_hash.h"
#include "pkg/base/strings.h"
#include "pkg/kube/object.h"
#include "pkg/operator/capacity/rental_offers.h"
#include "pkg/operator/pods/pod_builder.h"
#include "pkg/operator/pods/pod_rental.h"

namespace yardmaster::op {

namespace {

using api::ScalingKind;
using nlohmann::json;

std::string RequestNameOf(const api::TrainingJob& job, int request) {
  return RequestName(job.metadata.name, job.status.capacity.generation, request);
}

std::string TemplateName(const api::TrainingJob& job, std::size_t part) {
  return StrCat(job.metadata.name, "-rent-", job.status.capacity.generation, "-hosts-", part);
}

json OwnedMetadata(const api::TrainingJob& job, std::string name) {
  return {{"name", std::move(name)},
          {"namespace", job.metadata.namespace_name},
          {"labels", {{api::kJobLabel, job.metadata.name}}},
          {"ownerReferences", json::array({ControllerReference(job)})}};
}

// What a worker asks of its host, as its pod will: Cluster Autoscaler packs such pods into new
// hosts.
json PodTemplateOf(const api::TrainingJob& job, std::size_t part) {
  WorkerShape shape{job.job.workers, job.job.gpus_per_worker, job.job.gpu_resource, 0,
                    job.job.parallelism};
  json pod = BuildPod(job, shape, 0);
  json& spec = pod["spec"];
  for (const char* own : {"schedulingGates", "hostname", "subdomain"}) spec.erase(own);
  for (const auto& [key, value] : job.status.capacity.hosts[part].node_labels) {
    spec["nodeSelector"][key] = value;
  }
  return {{"apiVersion", "v1"},
          {"kind", "PodTemplate"},
          {"metadata", OwnedMetadata(job, TemplateName(job, part))},
          {"template",
           {{"metadata", {{"labels", {{api::kJobLabel, job.metadata.name}}}}}, {"spec", spec}}}};
}

json RequestOf(const api::TrainingJob& job, const api::CapacityPool& pool,
               const std::vector<int>& parts) {
  const api::CapacityStatus& status = job.status.capacity;
  json sets = json::array();
  for (const int part : parts) {
    const auto index = static_cast<std::size_t>(part);
    sets.push_back({{"podTemplateRef", {{"name", TemplateName(job, index)}}},
                    {"count", status.hosts[index].workers}});
  }
  json spec = {{"provisioningClassName", pool.scaling.provisioning_class},
               {"podSets", std::move(sets)}};
  if (!pool.scaling.parameters.empty()) spec["parameters"] = pool.scaling.parameters;
  const int request = status.hosts[static_cast<std::size_t>(parts[0])].request;
  return {{"apiVersion", "autoscaling.x-k8s.io/v1"},
          {"kind", "ProvisioningRequest"},
          {"metadata", OwnedMetadata(job, RequestNameOf(job, request))},
          {"spec", std::move(spec)}};
}

std::string ClaimName(const api::TrainingJob& job, std::size_t part, int host) {
  return StrCat("rent-", api::ShortHash(job.metadata.uid), "-", job.status.capacity.generation, "-",
                part, "-", host);
}

// What a worker asks for and the pool's hosts list; not its place among the pods of a host.
workload::ResourceList RequestsOf(const api::TrainingJob& job, const api::CapacityPool& pool) {
  workload::ResourceList requests;
  for (const workload::ResourceAmount& request : job.requests) {
    if (request.name == "pods" || workload::AmountOf(pool.allocatable, request.name) == 0) continue;
    workload::SetAmount(requests, request.name, request.amount);
  }
  return requests;
}

json NodeClaimOf(const api::TrainingJob& job, const api::CapacityPool& pool, std::size_t part,
                 std::string name) {
  const api::RentedHosts& rented = job.status.capacity.hosts[part];
  json labels = {{api::kRentalLabel, job.metadata.uid}};
  json requirements = json::array();
  for (const auto& [key, value] : rented.node_labels) {
    // What its provider chooses an instance by; the rest is put on the Node as it is.
    if (key == api::kInstanceTypeLabel || key == api::kZoneLabel ||
        key == api::kKarpenterCapacityTypeLabel) {
      requirements.push_back({{"key", key}, {"operator", "In"}, {"values", {value}}});
    } else {
      labels[key] = value;
    }
  }
  const api::NodeClassReference& node_class = *pool.scaling.node_class;
  return {
      {"apiVersion", "karpenter.sh/v1"},
      {"kind", "NodeClaim"},
      {"metadata",
       {{"name", std::move(name)},
        {"labels", std::move(labels)},
        {"annotations",
         {{"karpenter.sh/do-not-disrupt", "true"},
          {api::kRentalJobAnnotation,
           StrCat(job.metadata.namespace_name, "/", job.metadata.name)}}}}},
      {"spec",
       {{"nodeClassRef",
         {{"group", node_class.group}, {"kind", node_class.kind}, {"name", node_class.name}}},
        {"requirements", std::move(requirements)},
        {"resources", {{"requests", api::EncodeResources(RequestsOf(job, pool))}}},
        {"taints",
         json::array(
             {{{"key", api::kRentedKey}, {"value", job.metadata.uid}, {"effect", "NoSchedule"}}})},
        {"expireAfter", "Never"}}}};
}

std::vector<api::Condition> ConditionsOf(const json& object) {
  const json status = object.value("status", json::object());
  api::FieldErrors errors;
  api::FieldReader in(&status, "status", api::UnknownFields::kIgnore, &errors);
  return api::ReadConditions(in);
}

std::string MessageOfCondition(const std::vector<api::Condition>& conditions, const char* type) {
  const api::Condition* condition = api::FindCondition(conditions, type);
  if (condition == nullptr) return "";
  return condition->message.empty() ? condition->reason : condition->message;
}

// A request for all hosts of its entries.
void ReadRequest(const json& request, const std::vector<int>& parts,
                 const api::CapacityStatus& status, Provisioning& out, bool& complete) {
  const std::vector<api::Condition> conditions = ConditionsOf(request);
  const std::string name = StrCat("ProvisioningRequest ", kube::NameOf(request));
  for (const char* type : {"Failed", "CapacityRevoked"}) {
    if (!api::IsTrue(conditions, type) || !out.failed.empty()) continue;
    out.failed = StrCat(name, " is ", type, ": ", MessageOfCondition(conditions, type));
    out.failed_parts = parts;
  }
  const bool provisioned = api::IsTrue(conditions, "Provisioned");
  complete = complete && provisioned;
  if (!provisioned) return;
  const std::int64_t since_ms = api::FindCondition(conditions, "Provisioned")->transition_ms;
  for (const int part : parts) {
    const auto index = static_cast<std::size_t>(part);
    out.provided[index] = status.hosts[index].hosts;
    out.charged_ms[index].assign(static_cast<std::size_t>(status.hosts[index].hosts), since_ms);
  }
}

void ReadClaim(const json& claim, int part, Provisioning& out, bool& complete) {
  const std::vector<api::Condition> conditions = ConditionsOf(claim);
  const bool initialized = api::IsTrue(conditions, "Initialized");
  complete = complete && initialized;
  // An instance is paid for from its launch, whether its Node is there or not.
  const bool launched = api::IsTrue(conditions, "Launched");
  if (initialized || launched) {
    const auto index = static_cast<std::size_t>(part);
    ++out.provided[index];
    const char* type = launched ? "Launched" : "Initialized";
    out.charged_ms[index].push_back(api::FindCondition(conditions, type)->transition_ms);
  }
  if (kube::FindAt(claim, {"metadata", "deletionTimestamp"}) != nullptr && out.failed.empty()) {
    out.failed = StrCat("NodeClaim ", kube::NameOf(claim), " is being removed");
    out.failed_parts = {part};
  }
}

// `pools`: null for names alone.
std::vector<RentalObject> ObjectsOf(const api::TrainingJob& job,
                                    const std::vector<api::CapacityPool>* pools) {
  const auto pool_of = [&](const api::RentedHosts& part, ScalingKind kind) {
    const api::CapacityPool* pool = pools == nullptr ? nullptr : FindPool(*pools, part.pool);
    return pool != nullptr && pool->scaling.kind() == kind ? pool : nullptr;
  };
  const api::CapacityStatus& status = job.status.capacity;
  std::vector<RentalObject> objects;
  std::map<int, std::vector<int>> requests;
  for (std::size_t i = 0; i < status.hosts.size(); ++i) {
    if (status.hosts[i].scaling != ScalingKind::kProvisioningRequest) continue;
    RentalObject object;
    object.target = {kube::PodTemplates(), job.metadata.namespace_name, TemplateName(job, i), ""};
    if (pools != nullptr) object.object = PodTemplateOf(job, i);
    object.parts = {static_cast<int>(i)};
    objects.push_back(std::move(object));
    requests[status.hosts[i].request].push_back(static_cast<int>(i));
  }
  for (const auto& [request, parts] : requests) {
    RentalObject object;
    object.target = {kube::ProvisioningRequests(), job.metadata.namespace_name,
                     RequestNameOf(job, request), ""};
    const auto* pool = pool_of(status.hosts[static_cast<std::size_t>(parts[0])],
                               ScalingKind::kProvisioningRequest);
    if (pool != nullptr) object.object = RequestOf(job, *pool, parts);
    object.parts = parts;
    objects.push_back(std::move(object));
  }
  for (std::size_t i = 0; i < status.hosts.size(); ++i) {
    if (status.hosts[i].scaling != ScalingKind::kNodeClaims) continue;
    const auto* pool = pool_of(status.hosts[i], ScalingKind::kNodeClaims);
    for (int host = 0; host < status.hosts[i].hosts; ++host) {
      const std::string name = ClaimName(job, i, host);
      RentalObject object;
      object.target = {kube::NodeClaims(), "", name, ""};
      if (pool != nullptr) object.object = NodeClaimOf(job, *pool, i, name);
      object.parts = {static_cast<int>(i)};
      objects.push_back(std::move(object));
    }
  }
  return objects;
}

}  // namespace

std::vector<RentalObject> RentalObjects(const api::TrainingJob& job,
                                        const std::vector<api::CapacityPool>& pools) {
  return ObjectsOf(job, &pools);
}

std::vector<RentalObject> RentalNames(const api::TrainingJob& job) {
  return ObjectsOf(job, nullptr);
}

Provisioning ReadProvisioning(const api::CapacityStatus& status,
                              const std::vector<RentalObject>& objects,
                              const std::vector<json>& found, const std::vector<bool>& created) {
  Provisioning out;
  out.provided.resize(status.hosts.size());
  out.charged_ms.resize(status.hosts.size());
  bool complete = true;
  out.gone = std::all_of(found.begin(), found.end(), [](const json& o) { return o.is_null(); });
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const RentalObject& object = objects[i];
    const std::string& kind = object.target.resource.kind;
    if (found[i].is_null()) {
      complete = false;
      if (created[i] && out.failed.empty()) {
        out.failed = StrCat(kind, " ", object.target.name, " was removed by others");
        out.failed_parts = object.parts;
      }
    } else if (kind == kube::ProvisioningRequests().kind) {
      ReadRequest(found[i], object.parts, status, out, complete);
    } else if (kind == kube::NodeClaims().kind) {
      ReadClaim(found[i], object.parts[0], out, complete);
    }
  }
  for (auto& part : out.charged_ms) std::sort(part.begin(), part.end());
  out.complete = complete && !objects.empty() && out.failed.empty();
  return out;
}

}  // namespace yardmaster::op
